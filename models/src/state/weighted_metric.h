/// WeightedMetric: a metric of `weighted_metrics`, which is told how often each sample counts.
#pragma once

#include <ronde/nn/forwarding_metric.h>

namespace ronde::inline v0 {

/// Stands among a model's metrics for the one that it holds. Its sums are those of fractions: what adds up
/// metrics takes care that they are the same on any number of ranks.
class WeightedMetric : public ForwardingMetric {
 public:
  using ForwardingMetric::ForwardingMetric;

  bool counts_correct() const override { return false; }
  bool sums_are_counts() const override { return false; }
};

inline bool is_weighted(const Metric& metric) {
  return dynamic_cast<const WeightedMetric*>(&metric) != nullptr;
}

}  // namespace ronde::inline v0
