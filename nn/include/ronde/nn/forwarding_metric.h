/// ForwardingMetric: another metric, but for what a derived class says otherwise.
///
///     class OfLogits final : public ForwardingMetric {
///      public:
///       using ForwardingMetric::ForwardingMetric;
///       void update(const Tensor& output, const Tensor& target) override {
///         inner()->update(softmax(output).value(), target);
///       }
///     };
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

class RONDE_API ForwardingMetric : public Metric {
 public:
  explicit ForwardingMetric(std::shared_ptr<Metric> inner) : inner_(std::move(inner)) {}
  const std::shared_ptr<Metric>& inner() const { return inner_; }

  std::string name() const override { return inner_->name(); }
  void expect_outputs(const Shape& outputs) override { inner_->expect_outputs(outputs); }
  void update(const Tensor& output, const Tensor& target) override { inner_->update(output, target); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override {
    inner_->update_weighted(output, target, weights);
  }
  MetricSums sums() const override { return inner_->sums(); }
  void reset() override { inner_->reset(); }
  double value(const MetricSums& sums) const override { return inner_->value(sums); }
  bool counts_correct() const override { return inner_->counts_correct(); }
  bool sums_are_counts() const override { return inner_->sums_are_counts(); }
  ConfigValue config() const override { return inner_->config(); }
  MetricDirection direction() const override { return inner_->direction(); }

 private:
  std::shared_ptr<Metric> inner_;
};

}  // namespace ronde::inline v0
