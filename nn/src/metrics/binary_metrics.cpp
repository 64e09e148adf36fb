#include <ronde/nn/binary_metrics.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include <ronde/core/counted.h>

#include "config/snake_case.h"
#include "losses/targets.h"
#include "metrics/binary_outcomes.h"
#include "metrics/sample_weights.h"
#include "metrics/threshold.h"

namespace ronde::inline v0 {

namespace {

MetricSums share(double part, double rest) {
  return {part, part + rest};
}

double all_of(const BinaryOutcomes& outcomes) {
  return outcomes.true_positives + outcomes.false_positives + outcomes.true_negatives +
         outcomes.false_negatives;
}

double threshold_in(const PrecisionOptions& options) {
  if (options.threshold) return *options.threshold;
  return options.top_k > 0 ? -std::numeric_limits<double>::infinity() : 0.5;
}

/// Which of the values are among the k largest; all, for k = 0.
std::vector<bool> among_largest(std::vector<double> values, std::int64_t k) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (k == 0 || k >= count) return std::vector<bool>(values.size(), true);
  for (double& value : values)
    if (std::isnan(value)) value = -std::numeric_limits<double>::infinity();
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::partial_sort(places.begin(), places.begin() + k, places.end(), [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  std::vector<bool> among(values.size());
  for (auto place = places.begin(); place != places.begin() + k; ++place) among[*place] = true;
  return among;
}

}  // namespace

BinaryOutcomes count_outcomes(const std::string& metric, const Tensor& output, const Tensor& target,
                              const Tensor& weights, const PrecisionOptions& options) {
  check_like_outputs(metric, target, output.shape());
  const std::int64_t classes = output.rank() > 1 ? output.shape().back() : 1;
  const std::int64_t first = options.class_id.value_or(0), last = options.class_id ? first + 1 : classes;
  require(last <= classes, "[", metric, "] class_id ", first, " is none of the ",
          counted(classes, "class", "classes"), " of outputs ", output.shape());
  const std::vector<double> said = output.to_vector<double>(), meant = target.to_vector<double>();
  const double threshold = threshold_of(output, threshold_in(options));
  const std::vector<double> of_rows = weights_of_rows(metric, weights, output.shape());
  BinaryOutcomes outcomes;
  auto weight = of_rows.begin();
  for (auto row = said.begin(); row != said.end(); row += classes, ++weight) {
    const std::vector<bool> may_say_yes = among_largest({row, row + classes}, options.top_k);
    for (std::int64_t k = first; k < last; ++k) {
      const bool yes = row[k] > threshold && may_say_yes[static_cast<std::size_t>(k)];
      const double target_of_it = meant[static_cast<std::size_t>(row - said.begin() + k)];
      const bool is_meant = target_of_it != 0.0;
      if (target_of_it == (yes ? 1.0 : 0.0)) outcomes.exact += *weight;
      (yes        ? is_meant ? outcomes.true_positives : outcomes.false_positives
       : is_meant ? outcomes.false_negatives
                  : outcomes.true_negatives) += *weight;
    }
  }
  return outcomes;
}

BinaryMetric::BinaryMetric(const char* class_name, PrecisionOptions options)
    : class_name_(class_name),
      options_(std::move(options)),
      name_(options_.name.empty() ? snake_case(class_name) : options_.name) {
  require<UsageError>(options_.top_k >= 0, "[", name_, "] top_k must not be negative, got ", options_.top_k);
  require<UsageError>(options_.class_id.value_or(0) >= 0, "[", name_, "] class_id must not be negative, got ",
                      options_.class_id.value_or(0));
}

void BinaryMetric::update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) {
  const BinaryOutcomes more = count_outcomes(name_, output, target, weights, options_);
  outcomes_.true_positives += more.true_positives;
  outcomes_.false_positives += more.false_positives;
  outcomes_.true_negatives += more.true_negatives;
  outcomes_.false_negatives += more.false_negatives;
  outcomes_.exact += more.exact;
}

void BinaryMetric::reset() {
  outcomes_ = {};
}

// Keras takes thresholds between 0 and 1 only.
ConfigValue BinaryMetric::config() const {
  const double threshold = options_.threshold.value_or(0.5);
  if (threshold <= 0.0 || threshold >= 1.0) return {};
  ConfigDict options{{"name", name_}};
  if (threshold != 0.5 || (options_.threshold && options_.top_k > 0))
    options.emplace_back(std::string_view(class_name_) == "BinaryAccuracy" ? "threshold" : "thresholds",
                         threshold);
  if (options_.top_k > 0) options.emplace_back("top_k", options_.top_k);
  if (options_.class_id) options.emplace_back("class_id", *options_.class_id);
  return ConfigDict{{"class_name", class_name_}, {"config", options}};
}

MetricSums BinaryAccuracy::sums() const {
  return {outcomes().exact, all_of(outcomes())};
}

MetricSums Precision::sums() const {
  return share(outcomes().true_positives, outcomes().false_positives);
}

MetricSums Recall::sums() const {
  return share(outcomes().true_positives, outcomes().false_negatives);
}

MetricSums OutcomeCount::sums() const {
  return {outcomes().*outcome_, all_of(outcomes())};
}

}  // namespace ronde::inline v0
