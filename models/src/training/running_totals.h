/// RunningTotals: sums of the loss and the metrics of many batches, kept on the device until somebody asks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/data/virtual_shards.h>
#include <ronde/distributed/communicator.h>
#include <ronde/models/model.h>
#include <ronde/nn/metric.h>
#include <ronde/nn/parameter_arena.h>

namespace ronde::inline v0 {

/// What was added up, read from the device.
struct Totals {
  double loss_sum = 0.0;
  double samples = 0.0;
  std::vector<std::pair<const Metric*, MetricSums>> metrics;

  /// The mean over the samples; 0 without any.
  double loss() const { return samples > 0.0 ? loss_sum / samples : 0.0; }

  /// "loss", and the metrics by their names (Model::State::metric_names).
  void append_to(Logs& logs, const std::vector<std::string>& names) const;
};

/// What a batch adds to them.
struct BatchOutcome {
  Tensor loss_sum;  ///< a scalar: the sum of the losses of its samples
  Tensor outputs;   ///< (n, ...)
  Tensor targets = {};
  Tensor weights = {};  ///< (n), for a WeightedMetric; undefined: all are 1
  Tensor mask = {};     ///< (n, steps): which steps metrics look at; undefined: at all
};

class RunningTotals {
 public:
  /// Takes over the metrics: they are reset here. With virtual shards each of these has sums of its own, so
  /// that what comes out is the same for any number of ranks. The penalties of `weights`, which must outlive
  /// this, are part of the loss of each sample; nullptr: there are none.
  RunningTotals(Backend& backend, const std::vector<std::shared_ptr<Metric>>& metrics,
                const VirtualShards& shards = {}, const ParameterArena* weights = nullptr);

  void reset();
  /// The penalties of its samples are added to the loss: those of the weights as they are now. Enqueues only.
  void add(const BatchOutcome& batch);
  /// Moves the sum of the losses to `to`, a scalar of f64 on the device; what metrics have seen stays.
  /// Enqueues only.
  void move_loss(const Tensor& to);
  /// What was added since the last call is of this virtual shard, one of this rank's. Waits for the device.
  void close_shard(int shard);
  /// Of this rank. Waits for the device.
  Totals local() const;
  /// Of all ranks, in one small collective.
  Totals reduced(Communicator& communicator) const;

  /// Plain numbers, a row for each rank or each virtual shard: sum and count of the loss, then the sums of
  /// each metric. Waits for the device. Collective.
  std::vector<std::vector<double>> gathered(Communicator& communicator) const;
  std::size_t width() const;  ///< of a row
  /// Goes on from such numbers instead of from zero: from this rank's rows or, on another number of ranks,
  /// from its part of them all.
  void restore(const std::vector<std::vector<double>>& rows, const Communicator& communicator);
  /// All that was added so far, of this rank.
  using Mark = std::vector<std::vector<double>>;
  /// Waits for the device.
  Mark mark() const;
  /// Forgets what was added since.
  void return_to(const Mark& mark);
  /// What the host has counted of it by itself.
  struct HostMark {
    std::int64_t samples;
    std::vector<Accuracy::HostCounts> of_metrics;
  };
  HostMark host_mark() const;
  /// The device has left out what was added since (GatedUpdates), of which no metric was other than Accuracy.
  void return_to(const HostMark& mark);
  /// The sum of the losses since the last shard was closed, of this rank. Waits for the device.
  double loss_sum() const;
  /// Empties the metrics, so that somebody else may use them; what they held still counts here.
  void lend_metrics();

 private:
  std::vector<double> values() const;
  Totals named(const std::vector<double>& values) const;
  void clear();
  void assign(const std::vector<double>& values);
  const Tensor& penalty();

  const std::vector<std::shared_ptr<Metric>>* metrics_;
  VirtualShards shards_;
  std::vector<std::vector<double>> of_shards_;  // of this rank's closed shards
  std::vector<MetricSums> held_;                // of each metric, counted before what it holds now
  Tensor loss_sum_;                             // f64 scalar: sums over an epoch keep their digits
  std::int64_t samples_ = 0;
  const ParameterArena* weights_;                 // nullptr: no weight has a regularizer
  Tensor penalty_;                                // of the weights in that version; a scalar like the loss
  std::optional<std::uint64_t> penalty_version_;  // else not known
};

}  // namespace ronde::inline v0
