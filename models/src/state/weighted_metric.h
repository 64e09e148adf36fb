/// WeightedMetric: a metric of `weighted_metrics`, which is told how often each sample counts.
#pragma once

#include <memory>
#include <string>

#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

/// Stands among a model's metrics for the one that it holds. Its sums are those of fractions: what adds up
/// metrics takes care that they are the same on any number of ranks.
class WeightedMetric : public Metric {
 public:
  explicit WeightedMetric(std::shared_ptr<Metric> metric) : metric_(std::move(metric)) {}
  const std::shared_ptr<Metric>& inner() const { return metric_; }

  std::string name() const override { return metric_->name(); }
  void expect_outputs(const Shape& outputs) override { metric_->expect_outputs(outputs); }
  void update(const Tensor& output, const Tensor& target) override { metric_->update(output, target); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override {
    metric_->update_weighted(output, target, weights);
  }
  MetricSums sums() const override { return metric_->sums(); }
  void reset() override { metric_->reset(); }
  double value(const MetricSums& sums) const override { return metric_->value(sums); }
  bool counts_correct() const override { return false; }
  bool sums_are_counts() const override { return false; }
  ConfigValue config() const override { return metric_->config(); }
  MetricDirection direction() const override { return metric_->direction(); }

 private:
  std::shared_ptr<Metric> metric_;
};

inline bool is_weighted(const Metric& metric) {
  return dynamic_cast<const WeightedMetric*>(&metric) != nullptr;
}

}  // namespace ronde::inline v0
