#include <ronde/nn/fbeta_score.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "metrics/fbeta_config.h"
#include "metrics/sample_weights.h"
#include "metrics/threshold.h"

namespace ronde::inline v0 {

namespace {

FBetaOptions with_beta_1(FBetaOptions options) {
  options.beta = 1.0;
  return options;
}

/// What Keras takes for zero among the largest outputs of rows.
constexpr double kNothing = 1e-9;

/// Whether each output of a row says yes.
std::vector<bool> decisions(const double* row, std::size_t classes, const std::optional<double>& threshold) {
  std::vector<bool> yes(classes);
  const double largest = *std::max_element(row, row + classes);
  for (std::size_t i = 0; i < classes; ++i)
    yes[i] = threshold ? row[i] > *threshold : row[i] >= largest && std::abs(row[i]) > kNothing;
  return yes;
}

double share_of(double part, double whole) {
  return whole > 0.0 ? part / whole : 0.0;
}

}  // namespace

FBetaScore::FBetaScore(const char* class_name, Options options)
    : class_name_(class_name), options_(std::move(options)) {
  if (options_.name.empty())
    options_.name = std::string_view(class_name) == "F1Score" ? "f1_score" : "fbeta_score";
  require<UsageError>(options_.beta > 0.0, "[", options_.name, "] beta must be positive, got ",
                      options_.beta);
  const double threshold = options_.threshold.value_or(0.5);
  require<UsageError>(threshold > 0.0 && threshold <= 1.0, "[", options_.name,
                      "] threshold must be above 0 and at most 1, got ", threshold);
}

F1Score::F1Score(Options options) : FBetaScore("F1Score", with_beta_1(std::move(options))) {}

void FBetaScore::expect_outputs(const Shape& outputs) {
  require<UsageError>(outputs.rank() == 1, "[", name(), "] expects outputs of shape (n, classes), got ",
                      outputs, " without the batch");
  counts_.assign(3 * static_cast<std::size_t>(outputs[0]), 0.0);
}

void FBetaScore::update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) {
  require(output.rank() == 2 && target.shape() == output.shape(), "[", name(),
          "] expects outputs and targets of one shape (n, classes), got ", output.shape(), " and ",
          target.shape());
  if (counts_.size() != 3 * static_cast<std::size_t>(output.size(1))) expect_outputs(output.shape().tail(1));
  const std::vector<double> said = output.to_vector<double>(), meant = target.to_vector<double>();
  const std::vector<double> of_rows = weights_of_rows(name(), weights, output.shape());
  const std::size_t classes = counts_.size() / 3;
  std::optional<double> threshold = options_.threshold;
  if (threshold) threshold = threshold_of(output, *threshold);
  for (std::size_t row = 0; row < said.size(); row += classes) {
    const double weight = of_rows[row / classes];
    const std::vector<bool> yes = decisions(said.data() + row, classes, threshold);
    for (std::size_t i = 0; i < classes; ++i) {
      const bool is_meant = meant[row + i] != 0.0;
      if (yes[i] && is_meant) counts_[i] += weight;
      if (yes[i]) counts_[classes + i] += weight;
      if (is_meant) counts_[2 * classes + i] += weight;
    }
  }
}

std::vector<double> FBetaScore::scores(const MetricSums& sums) const {
  MetricSums counts = sums;
  if (options_.average == ScoreAverage::micro) {
    const auto classes = static_cast<std::ptrdiff_t>(sums.size() / 3);
    counts.clear();
    for (auto begin = sums.begin(); begin != sums.end(); begin += classes)
      counts.push_back(std::accumulate(begin, begin + classes, 0.0));
  }
  const std::size_t classes = counts.size() / 3;
  const double square = options_.beta * options_.beta;
  std::vector<double> scores;
  for (std::size_t i = 0; i < classes; ++i) {
    const double precision = share_of(counts[i], counts[classes + i]);
    const double recall = share_of(counts[i], counts[2 * classes + i]);
    scores.push_back(share_of((1.0 + square) * precision * recall, square * precision + recall));
  }
  return scores;
}

double FBetaScore::value(const MetricSums& sums) const {
  const std::vector<double> each = scores(sums);
  if (options_.average != ScoreAverage::weighted)
    return share_of(std::accumulate(each.begin(), each.end(), 0.0), static_cast<double>(each.size()));
  const auto meant = sums.end() - static_cast<std::ptrdiff_t>(each.size());
  return share_of(std::inner_product(each.begin(), each.end(), meant, 0.0),
                  std::accumulate(meant, sums.end(), 0.0));
}

ConfigValue FBetaScore::config() const {
  ConfigDict config = fbeta_config(options_);
  // Keras' F1Score takes no beta.
  if (std::string_view(class_name_) == "F1Score")
    std::erase_if(config, [](const auto& option) { return option.first == "beta"; });
  return ConfigDict{{"class_name", class_name_}, {"config", config}};
}

}  // namespace ronde::inline v0
