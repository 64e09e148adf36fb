#include <ronde/nn/auc.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "losses/targets.h"
#include "metrics/auc_config.h"
#include "metrics/sample_weights.h"

namespace ronde::inline v0 {

namespace {

std::vector<float> inner_thresholds(const AucOptions& options) {
  if (!options.thresholds.empty()) {
    for (const double threshold : options.thresholds)
      require<UsageError>(threshold >= 0.0 && threshold <= 1.0, "[", options.name,
                          "] thresholds must be between 0 and 1, got ", threshold);
    std::vector<float> sorted(options.thresholds.begin(), options.thresholds.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  require<UsageError>(options.num_thresholds >= 2, "[", options.name,
                      "] num_thresholds must be at least 2, got ", options.num_thresholds);
  std::vector<float> evenly;
  for (int i = 1; i < options.num_thresholds - 1; ++i)
    evenly.push_back(static_cast<float>(static_cast<double>(i) / (options.num_thresholds - 1)));
  return evenly;
}

double ratio(double part, double whole) {
  return whole > 0.0 ? part / whole : 0.0;
}

/// A point of the curve, from how many say yes.
struct AtThreshold {
  double true_positives = 0.0;
  double false_positives = 0.0;
  double positives() const { return true_positives + false_positives; }
};

/// From the highest threshold, above which nothing is, to the lowest, above which all are.
std::vector<AtThreshold> cumulated(const MetricSums& sums) {
  const std::size_t buckets = sums.size() / 2;
  std::vector<AtThreshold> points{{}};
  for (std::size_t i = buckets; i-- > 0;)
    points.push_back(
        {points.back().true_positives + sums[i], points.back().false_positives + sums[buckets + i]});
  return points;
}

/// The area under precision over recall between two thresholds, times the number of those meant. Between them
/// the true positives grow by `slope` for each positive: the integral of (positives * slope + intercept) /
/// positives.
double between_precisions(const AtThreshold& high, const AtThreshold& low) {
  const double found = low.true_positives - high.true_positives;
  const double slope = ratio(found, low.positives() - high.positives());
  const double intercept = high.true_positives - slope * high.positives();
  const double growth = high.positives() > 0.0 ? std::log(low.positives() / high.positives()) : 0.0;
  return slope * (found + intercept * growth);
}

double height(AucSummation summation, double a, double b) {
  switch (summation) {
    case AucSummation::minoring:
      return std::min(a, b);
    case AucSummation::majoring:
      return std::max(a, b);
    case AucSummation::interpolation:
      break;
  }
  return (a + b) / 2.0;
}

double area_between(const AtThreshold& high, const AtThreshold& low, const AtThreshold& all,
                    const AucOptions& options) {
  const double lower_recall = ratio(high.true_positives, all.true_positives);
  const double recall = ratio(low.true_positives, all.true_positives);
  if (options.curve == AucCurve::roc)
    return ratio(low.false_positives - high.false_positives, all.false_positives) *
           height(options.summation, lower_recall, recall);
  if (options.summation == AucSummation::interpolation)
    return ratio(between_precisions(high, low), all.true_positives);
  return (recall - lower_recall) * height(options.summation, ratio(high.true_positives, high.positives()),
                                          ratio(low.true_positives, low.positives()));
}

}  // namespace

AUC::AUC(Options options)
    : options_(std::move(options)),
      thresholds_(inner_thresholds(options_)),
      counts_(2 * (thresholds_.size() + 1)) {}

void AUC::update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) {
  check_like_outputs(name(), target, output.shape());
  const std::size_t buckets = thresholds_.size() + 1;
  if (options_.multi_label &&
      (output.rank() != 2 || counts_.size() != 2 * buckets * static_cast<std::size_t>(output.size(1))))
    expect_outputs(output.shape().tail(1));
  const std::size_t labels = counts_.size() / (2 * buckets);
  const std::vector<double> said = output.to_vector<double>(), meant = target.to_vector<double>();
  const std::vector<double> of_rows = weights_of_rows(name(), weights, output.shape());
  const std::size_t width = of_rows.empty() ? 1 : said.size() / of_rows.size();
  for (std::size_t i = 0; i < said.size(); ++i)
    counts_[2 * buckets * (i % labels) + bucket_of(said[i]) + (meant[i] != 0.0 ? 0 : buckets)] +=
        of_rows[i / width];
}

void AUC::expect_outputs(const Shape& outputs) {
  if (!options_.multi_label) return;
  require<UsageError>(outputs.rank() == 1, "[", name(),
                      "] multi_label expects outputs of shape (n, labels), got ", outputs,
                      " without the batch");
  counts_.assign(2 * (thresholds_.size() + 1) * static_cast<std::size_t>(outputs[0]), 0.0);
}

// How many of the thresholds an output is above.
std::size_t AUC::bucket_of(double output) const {
  if (std::isnan(output)) return 0;
  const auto probability =
      static_cast<float>(options_.from_logits ? 1.0 / (1.0 + std::exp(-output)) : output);
  require(probability >= 0.0F && probability <= 1.0F, "[", name(),
          "] expects probabilities from 0 to 1, got ", output, "; for logits choose from_logits");
  return static_cast<std::size_t>(std::lower_bound(thresholds_.begin(), thresholds_.end(), probability) -
                                  thresholds_.begin());
}

double AUC::value(const MetricSums& sums) const {
  const auto width = static_cast<std::ptrdiff_t>(2 * (thresholds_.size() + 1));
  double areas = 0.0;
  for (auto label = sums.begin(); label != sums.end(); label += width)
    areas += area(MetricSums(label, label + width));
  return areas * static_cast<double>(width) / static_cast<double>(sums.size());
}

double AUC::area(const MetricSums& sums) const {
  const std::vector<AtThreshold> points = cumulated(sums);
  double sum = 0.0;
  for (std::size_t i = 1; i < points.size(); ++i)
    sum += area_between(points[i - 1], points[i], points.back(), options_);
  return sum;
}

ConfigValue AUC::config() const {
  return ConfigDict{{"class_name", "AUC"}, {"config", auc_config(options_)}};
}

}  // namespace ronde::inline v0
