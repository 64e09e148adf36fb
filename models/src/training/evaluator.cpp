#include "training/evaluator.h"

#include <cmath>
#include <utility>

#include <ronde/core/ops.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/data_loader.h>

#include "training/running_totals.h"
#include "training/sharded_step.h"

namespace ronde::inline v0 {

namespace {

std::int64_t correct_count(const std::vector<std::shared_ptr<Metric>>& metrics, const Totals& totals) {
  for (std::size_t i = 0; i < metrics.size(); ++i)
    if (dynamic_cast<const Accuracy*>(metrics[i].get())) return std::llround(totals.metrics[i].second.sum);
  return 0;
}

void add_outcome(Model::State& model, const StepData& data, RunningTotals& totals) {
  const Variable outputs = (*model.module)(data.inputs, model.context(false, data.sample_keys));
  totals.add(sum((*model.loss)(outputs, data.targets)).value(), outputs.value(), data.targets,
             data.inputs.size(0));
}

void add_batch(Model::State& model, const VirtualShards& shards, const Batch& batch, RunningTotals& totals) {
  const StepData data{batch.inputs, batch.targets, batch.sample_keys};
  if (batch.size() == 0) return;
  if (shards.total == 0) return add_outcome(model, data, totals);
  const FixedChunks fixed(kDeterministicChunks);
  for (const ShardData& part : cut_into_shards(shards, data, batch.global_count)) {
    add_outcome(model, part.data, totals);
    totals.close_shard(part.shard);
  }
}

}  // namespace

Evaluation evaluate_dataset(Model::State& model, const Dataset& data, std::int64_t global_batch,
                            int virtual_shards) {
  Communicator& communicator = *model.communicator;
  DataLoader loader(data,
                    ShardedSampler({.size = data.size(),
                                    .global_batch = global_batch,
                                    .rank = communicator.rank(),
                                    .world_size = communicator.size(),
                                    .shuffle = false,
                                    .virtual_shards = virtual_shards}),
                    {.dtype = model.options.dtype, .backend = &model.backend()});
  const VirtualShards& shards = loader.sampler().shards();
  RunningTotals totals(model.backend(), model.metrics, shards);
  const NoGrad no_grad;
  loader.start(0, loader.sampler().steps_per_epoch());
  while (const Batch* batch = loader.next()) add_batch(model, shards, *batch, totals);

  const Totals all = totals.reduced(communicator);
  Evaluation result;
  all.append_to(result.logs);
  result.loss_sum = all.loss.sum;
  result.count = std::llround(all.loss.count);
  result.correct = correct_count(model.metrics, all);
  return result;
}

void average_statistics(Model::State& model) {
  const bool differ = std::exchange(model.statistics_differ, false);
  const Tensor& statistics = model.arena->buffers();
  if (!differ || statistics.count() == 0 || model.communicator->size() == 1) return;
  model.communicator->allreduce(statistics, Reduction::average).wait();
  model.arena->bump_version();
}

void require_fitting_inputs(const Model::State& model, const Dataset& data, const char* verb) {
  require<UsageError>(data.input_shape() == model.module->input_shape(), "[", verb,
                      "] the net takes inputs of shape ", model.module->input_shape(), ", the data set has ",
                      data.input_shape());
  require<UsageError>(data.size() > 0, "[", verb, "] the data set has no samples");
}

}  // namespace ronde::inline v0
