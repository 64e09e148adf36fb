#include <ronde/nn/binary_metrics.h>

#include <string_view>

#include "binary_outcomes.h"
#include "snake_case.h"
#include "targets.h"

namespace ronde::inline v0 {

namespace {

MetricSums share(std::int64_t part, std::int64_t rest) {
  return {static_cast<double>(part), static_cast<double>(part + rest)};
}

}  // namespace

BinaryOutcomes count_outcomes(const std::string& metric, const Tensor& output, const Tensor& target,
                              double threshold) {
  check_like_outputs(metric, target, output.shape());
  const std::vector<double> said = output.to_vector<double>(), meant = target.to_vector<double>();
  BinaryOutcomes outcomes;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said[i] > threshold)
      ++(meant[i] != 0.0 ? outcomes.true_positives : outcomes.false_positives);
    else
      ++(meant[i] != 0.0 ? outcomes.false_negatives : outcomes.true_negatives);
  }
  return outcomes;
}

BinaryMetric::BinaryMetric(const char* class_name, BinaryMetricOptions options)
    : class_name_(class_name),
      threshold_(options.threshold),
      name_(options.name.empty() ? snake_case(class_name) : std::move(options.name)) {}

void BinaryMetric::update(const Tensor& output, const Tensor& target) {
  const BinaryOutcomes more = count_outcomes(name_, output, target, threshold_);
  outcomes_.true_positives += more.true_positives;
  outcomes_.false_positives += more.false_positives;
  outcomes_.true_negatives += more.true_negatives;
  outcomes_.false_negatives += more.false_negatives;
}

void BinaryMetric::reset() {
  outcomes_ = {};
}

// Keras takes thresholds between 0 and 1 only.
ConfigValue BinaryMetric::config() const {
  if (threshold_ <= 0.0 || threshold_ >= 1.0) return {};
  ConfigDict options{{"name", name_}};
  if (threshold_ != 0.5)
    options.emplace_back(std::string_view(class_name_) == "BinaryAccuracy" ? "threshold" : "thresholds",
                         threshold_);
  return ConfigDict{{"class_name", class_name_}, {"config", options}};
}

MetricSums BinaryAccuracy::sums() const {
  const BinaryOutcomes& counts = outcomes();
  return share(counts.true_positives + counts.true_negatives,
               counts.false_positives + counts.false_negatives);
}

MetricSums Precision::sums() const {
  return share(outcomes().true_positives, outcomes().false_positives);
}

MetricSums Recall::sums() const {
  return share(outcomes().true_positives, outcomes().false_negatives);
}

MetricSums OutcomeCount::sums() const {
  const BinaryOutcomes& counts = outcomes();
  return share(counts.*outcome_, counts.true_positives + counts.false_positives + counts.true_negatives +
                                     counts.false_negatives - counts.*outcome_);
}

}  // namespace ronde::inline v0
