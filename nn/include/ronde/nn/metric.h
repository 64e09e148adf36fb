/// Metrics: (sum, count) pairs that stay on the device until somebody asks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// What a metric has seen. Sums over ranks are exact for counts below 2^53.
struct MetricState {
  double sum = 0.0;
  double count = 0.0;
  double value() const { return count > 0 ? sum / count : 0.0; }
};

class RONDE_API Metric {
 public:
  virtual ~Metric() = default;
  /// "accuracy"
  virtual std::string name() const = 0;
  /// Adds a batch of outputs (n, ...) and targets.
  virtual void update(const Tensor& output, const Tensor& target) = 0;
  /// Waits for the device.
  virtual MetricState state() const = 0;
  virtual void reset() = 0;
};

/// Share of samples whose largest output is at the label; targets i32 (n) or one-hot (n, k).
class RONDE_API Accuracy : public Metric {
 public:
  std::string name() const override { return "accuracy"; }
  void update(const Tensor& output, const Tensor& target) override;
  MetricState state() const override;
  void reset() override;
  /// Number of samples that were right; waits for the device.
  std::int64_t correct() const;

 private:
  Tensor correct_;  // i64 scalar
  std::int64_t count_ = 0;
};

}  // namespace ronde::inline v0
