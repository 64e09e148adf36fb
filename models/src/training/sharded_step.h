/// Updates of the weights in deterministic mode: Note [Virtual shards] in distributed/shard_sum.h.
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/data/virtual_shards.h>
#include <ronde/distributed/shard_sum.h>

#include "state/model_state.h"
#include "training/running_totals.h"
#include "training/train_step.h"

namespace ronde::inline v0 {

/// Loops of kernels are cut into so many chunks; as many threads are of use.
constexpr int kDeterministicChunks = 8;

/// The samples of a virtual shard.
struct ShardData {
  int shard = 0;
  StepData data;
};

/// Cuts `data`, this rank's shards one after the other, into those that have samples. Each begins on a cache
/// line, wherever it stands in `data`: sums must not depend on that.
std::vector<ShardData> cut_into_shards(const VirtualShards& shards, const StepData& data,
                                       std::int64_t global_count);

class ShardedStep {
 public:
  ShardedStep(Model::State& model, const VirtualShards& shards);
  /// Gives the arena its own gradients back.
  ~ShardedStep();
  ShardedStep(const ShardedStep&) = delete;
  ShardedStep& operator=(const ShardedStep&) = delete;

  /// As TrainStep, shard by shard; `data` as above. Moving statistics become the mean of what each shard
  /// makes of them. Collective.
  void add(const StepData& data, std::int64_t global_count, RunningTotals& totals, StepAudit& audit);
  /// `may_update` is the gate of the update, if there is one: see DistributedOptimizer::Gate.
  std::int64_t update(const DistributedOptimizer::Gate& may_update = {});

 private:
  void run_shard(const ShardData& shard, const Tensor& statistics, RunningTotals& totals, StepAudit& audit);
  void add_to_earlier_batches(const Tensor& gradients);

  Model::State& model_;
  VirtualShards shards_;
  std::int64_t gradients_;  // elements, the extras included; moving statistics follow them in the sum
  Tensor own_gradients_;
  ShardSum sum_;
  Tensor gradients_of_batch_;  // of all ranks; in memory of sum_, so until the next batch
  Tensor earlier_;             // sum over the batches before it since the last update; undefined until needed
  std::int64_t batches_ = 0;   // since the last update
  std::int64_t samples_ = 0;   // of all ranks, since the last update
};

}  // namespace ronde::inline v0
