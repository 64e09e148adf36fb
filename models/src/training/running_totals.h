/// RunningTotals: the loss and the metrics of many batches as (sum, count), kept on the device until somebody
/// asks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>
#include <ronde/models/model.h>
#include <ronde/nn/metric.h>

namespace ronde::inline v0 {

/// What was added up, read from the device.
struct Totals {
  MetricState loss;
  std::vector<std::pair<std::string, MetricState>> metrics;

  /// Means: prefix + "loss", prefix + "accuracy", ...
  void append_to(Logs& logs, const std::string& prefix = "") const;
};

class RunningTotals {
 public:
  /// Takes over the metrics: they are reset here.
  RunningTotals(Backend& backend, const std::vector<std::shared_ptr<Metric>>& metrics);

  void reset();
  /// `loss_sum`: a scalar, the sum of the losses of `samples` samples. Enqueues only.
  void add(const Tensor& loss_sum, const Tensor& outputs, const Tensor& targets, std::int64_t samples);
  /// Of this rank. Waits for the device.
  Totals local() const;
  /// Of all ranks, in one small all-reduce. Collective.
  Totals reduced(Communicator& communicator) const;

 private:
  const std::vector<std::shared_ptr<Metric>>* metrics_;
  Tensor loss_sum_;  // f64 scalar: sums over an epoch keep their digits
  Tensor addend_;    // f64 scalar
  std::int64_t samples_ = 0;
};

}  // namespace ronde::inline v0
