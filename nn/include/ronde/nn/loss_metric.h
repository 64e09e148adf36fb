/// Losses as metrics: the mean over samples, on the outputs' device.
///
///     .metrics = {std::make_shared<LossMetric>(std::make_unique<MeanAbsoluteError>())}
///     .metrics = {make_metric("mae")}  // the same
#pragma once

#include <ronde/nn/loss.h>

namespace ronde::inline v0 {

class RONDE_API LossMetric : public Metric {
 public:
  /// `name` empty: the loss's. A UsageError when there is no loss.
  explicit LossMetric(std::shared_ptr<const Loss> loss, std::string name = {});
  std::string name() const override { return name_; }
  void update(const Tensor& output, const Tensor& target) override { update_weighted(output, target, {}); }
  void update_weighted(const Tensor& output, const Tensor& target, const Tensor& weights) override;
  MetricSums sums() const override;
  void reset() override;
  ConfigValue config() const override;
  MetricDirection direction() const override { return MetricDirection::smaller; }

 private:
  std::shared_ptr<const Loss> loss_;
  std::string name_;
  Tensor sum_;      // f64 scalar
  Tensor weights_;  // f64 scalar: of the samples that had one
  std::int64_t count_ = 0;
};

/// Square root of the mean of squared differences over all samples and axes.
class RONDE_API RootMeanSquaredError : public LossMetric {
 public:
  explicit RootMeanSquaredError(std::string name = "root_mean_squared_error");
  double value(const MetricSums& sums) const override;
  ConfigValue config() const override;
};

}  // namespace ronde::inline v0
