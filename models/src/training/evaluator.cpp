#include "training/evaluator.h"

#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/data/data_loader.h>

#include "training/running_totals.h"

namespace ronde::inline v0 {

namespace {

std::int64_t correct_count(const std::vector<std::shared_ptr<Metric>>& metrics, const Totals& totals) {
  for (std::size_t i = 0; i < metrics.size(); ++i)
    if (dynamic_cast<const Accuracy*>(metrics[i].get())) return std::llround(totals.metrics[i].second.sum);
  return 0;
}

}  // namespace

Evaluation evaluate_dataset(Model::State& model, const Dataset& data, std::int64_t global_batch) {
  Communicator& communicator = *model.communicator;
  DataLoader loader(data,
                    ShardedSampler({.size = data.size(),
                                    .global_batch = global_batch,
                                    .rank = communicator.rank(),
                                    .world_size = communicator.size(),
                                    .shuffle = false}),
                    {.dtype = model.options.dtype, .backend = &model.backend()});
  RunningTotals totals(model.backend(), model.metrics);
  const NoGrad no_grad;
  loader.start(0, loader.sampler().steps_per_epoch());
  while (const Batch* batch = loader.next()) {
    if (batch->size() == 0) continue;
    const Variable outputs = (*model.module)(batch->inputs, model.context(false, batch->sample_keys));
    totals.add(sum((*model.loss)(outputs, batch->targets)).value(), outputs.value(), batch->targets,
               batch->size());
  }

  const Totals all = totals.reduced(communicator);
  Evaluation result;
  all.append_to(result.logs);
  result.loss_sum = all.loss.sum;
  result.count = std::llround(all.loss.count);
  result.correct = correct_count(model.metrics, all);
  return result;
}

void average_statistics(Model::State& model) {
  const Tensor& statistics = model.arena->buffers();
  if (statistics.count() == 0 || model.communicator->size() == 1) return;
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
