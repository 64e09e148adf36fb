#include "training/sharded_step.h"

#include <cstdint>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/thread_pool.h>

#include "training/non_finite_guard.h"

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kWitness = 0;  // among the extras, which nothing else uses here

/// Of each rank, and the end.
std::vector<int> first_shards(const VirtualShards& shards, int world_size) {
  std::vector<int> first;
  for (int rank = 0; rank < world_size; ++rank)
    first.push_back(VirtualShards(shards.total, rank, world_size).first);
  first.push_back(shards.total);
  return first;
}

Tensor on_cache_line(const Tensor& x) {
  return reinterpret_cast<std::uintptr_t>(x.raw()) % 64 == 0 ? x : x.clone();
}

}  // namespace

std::vector<ShardData> cut_into_shards(const VirtualShards& shards, const StepData& data,
                                       std::int64_t global_count) {
  std::vector<ShardData> parts;
  std::int64_t begin = 0;
  for (int shard = shards.first; shard < shards.last; ++shard) {
    const std::int64_t end = begin + shards.size(shard, global_count);
    if (end == begin) break;  // and so are those behind it
    const auto rows = [&](const Tensor& x) { return on_cache_line(x.slice(0, begin, end)); };
    parts.push_back({shard, {rows(data.inputs), rows(data.targets), rows(data.sample_keys)}});
    begin = end;
  }
  require(begin == data.inputs.size(0), "[fit] ", counted(data.inputs.size(0), "sample"), " for shards of ",
          begin);
  return parts;
}

ShardedStep::ShardedStep(Model::State& model, const VirtualShards& shards)
    : model_(model),
      shards_(shards),
      gradients_(model.arena->gradients().count()),
      own_gradients_(model.arena->gradients()),
      sum_(*model.communicator, first_shards(shards, model.communicator->size()),
           gradients_ + model.arena->buffers().count(), own_gradients_.options()) {}

ShardedStep::~ShardedStep() {
  model_.arena->use_gradients(own_gradients_);
}

void ShardedStep::add(const StepData& data, std::int64_t global_count, RunningTotals& totals,
                      StepAudit& audit) {
  const FixedChunks fixed(kDeterministicChunks);
  if (batches_ > 0) add_to_earlier_batches(gradients_of_batch_);
  const DistributedOptimizer::NoSync held_back(*model_.optimizer);
  ParameterArena& arena = *model_.arena;
  const Tensor statistics = arena.buffers().clone();
  for (const ShardData& shard : cut_into_shards(shards_, data, global_count))
    run_shard(shard, statistics, totals, audit);

  const int present = shards_.present(global_count);
  const Tensor total = sum_.finish(present);
  gradients_of_batch_ = total.view(0, {gradients_});
  if (statistics.count() > 0) {
    arena.buffers().fill(0.0);
    arena.buffers().backend().accumulate(arena.buffers(), total.view(gradients_, {statistics.count()}),
                                         1.0 / present);
  }
  ++batches_;
  samples_ += global_count;
}

void ShardedStep::add_to_earlier_batches(const Tensor& gradients) {
  if (!earlier_.defined()) earlier_ = Tensor::empty_like(gradients);
  if (batches_ == 1) return earlier_.copy_from(gradients);
  earlier_.backend().accumulate(earlier_, gradients, 1.0);
}

std::int64_t ShardedStep::update(const DistributedOptimizer::Gate& may_update) {
  const FixedChunks fixed(kDeterministicChunks);
  if (batches_ > 1) add_to_earlier_batches(gradients_of_batch_);
  model_.arena->use_gradients(batches_ > 1 ? earlier_ : gradients_of_batch_);
  batches_ = 0;
  const std::int64_t samples = std::exchange(samples_, 0);
  if (may_update && !may_update(model_.arena->extras().view(kWitness, {1}).item())) return samples;
  model_.optimizer->optimizer().step(1.0 / static_cast<double>(samples));
  return samples;
}

void ShardedStep::run_shard(const ShardData& shard, const Tensor& statistics, RunningTotals& totals,
                            StepAudit& audit) {
  ParameterArena& arena = *model_.arena;
  const Tensor sum = sum_.next();
  arena.use_gradients(sum.view(0, {gradients_}));
  arena.zero_gradients();
  if (statistics.count() > 0) arena.buffers().copy_from(statistics);
  audit.run(totals, [&] { accumulate_gradients(model_, shard.data, totals); });
  arena.complete_gradients();
  arena.extras().view(kWitness, {1}).fill(loss_witness(totals.loss_sum()));
  if (statistics.count() > 0) sum.view(gradients_, {statistics.count()}).copy_from(arena.buffers());
  sum_.add(shard.shard);
  totals.close_shard(shard.shard);
}

}  // namespace ronde::inline v0
