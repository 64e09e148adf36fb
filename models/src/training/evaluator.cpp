#include "training/evaluator.h"

#include <cmath>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/thread_pool.h>
#include <ronde/core/trace.h>
#include <ronde/data/data_loader.h>
#include <ronde/models/view_outputs.h>

#include "training/running_totals.h"
#include "training/train_step.h"

namespace ronde::inline v0 {

namespace {

std::int64_t correct_count(const Totals& totals) {
  for (const auto& [metric, sums] : totals.metrics)
    if (metric->counts_correct()) return std::llround(sums[0]);
  return 0;
}

void add_outcome(Model::State& model, const StepData& data, const std::vector<TestTimeView>& views,
                 const LossWeights& weights, RunningTotals& totals) {
  const Variable outputs =
      view_outputs(*model.module, data.inputs, views, model.context(false, data.sample_keys));
  const Variable losses = (*model.loss)(outputs, data.targets);
  totals.add(weighted_sum(losses, weights, outputs.shape(), data.targets, data.sample_keys).value(),
             outputs.value(), data.targets, data.inputs.size(0));
}

/// Loops of kernels are cut into so many chunks, whatever the number of threads; more threads are of no use.
constexpr int kChunks = 64;

/// Batches of each rank.
std::vector<std::int64_t> batches_of_ranks(std::int64_t batches, int ranks) {
  std::vector<std::int64_t> counts;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    counts.push_back(batches * (rank + 1) / ranks - batches * rank / ranks);
  return counts;
}

/// Calls `f(sum)` for the sums of metrics that count, or of those that do not.
template <class F>
void for_each_sum(Totals& totals, bool counts, F&& f) {
  for (auto& [metric, sums] : totals.metrics)
    if (metric->sums_are_counts() == counts)
      for (double& sum : sums) f(sum);
}

/// Of some batches.
struct Sums {
  std::vector<double> rows = {};    ///< of each: the loss and its count, and metrics that do not count
  std::vector<double> counts = {};  ///< of all: metrics that count, whose sums are the same in any order
};

void append_row(std::vector<double>& rows, Totals& totals) {
  rows.push_back(totals.loss_sum);
  rows.push_back(totals.samples);
  for_each_sum(totals, false, [&](double sum) { rows.push_back(sum); });
}

void add_row(Totals& totals, const double* row) {
  totals.loss_sum += *row++;
  totals.samples += *row++;
  for_each_sum(totals, false, [&](double& sum) { sum += *row++; });
}

/// Of this rank's batches. `totals` are empty before and afterwards.
Sums evaluate_batches(Model::State& model, DataLoader& loader, const std::vector<TestTimeView>& views,
                      const LossWeights& weights, RunningTotals& totals) {
  const FixedChunks fixed(kChunks);
  const NoGrad no_grad;
  Sums all;
  Totals nothing = totals.local();
  for_each_sum(nothing, true, [&](double zero) { all.counts.push_back(zero); });
  while (const Batch* batch = loader.next()) {
    add_outcome(model, {batch->inputs, batch->targets, batch->sample_keys}, views, weights, totals);
    Totals of_batch = totals.local();
    append_row(all.rows, of_batch);
    auto count = all.counts.begin();
    for_each_sum(of_batch, true, [&](double sum) { *count++ += sum; });
    totals.reset();
  }
  return all;
}

}  // namespace

Evaluation evaluate_dataset(Model::State& model, const Dataset& data, const EvaluateOptions& options) {
  const TraceScope scope("evaluation", "evaluation");
  Communicator& communicator = *model.communicator;
  DataLoader loader(
      data, ShardedSampler({.size = data.size(), .global_batch = options.batch_size, .shuffle = false}),
      {.dtype = model.options.dtype, .backend = &model.backend()});
  const std::int64_t batches = loader.sampler().steps_per_epoch();
  const std::vector<std::int64_t> counts = batches_of_ranks(batches, communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  loader.start(batches * communicator.rank() / communicator.size(), counts[rank]);

  RunningTotals totals(model.backend(), model.metrics);
  const LossWeights weights{.of_samples = weight_table(options.sample_weight, {.dtype = model.options.dtype,
                                                                               .backend = &model.backend()})};
  Sums own = evaluate_batches(model, loader, options.views, weights, totals);
  Totals all = totals.local();
  std::vector<double> empty_row;
  append_row(empty_row, all);
  const auto width = static_cast<std::int64_t>(empty_row.size());
  const Tensor rows = Tensor::empty({batches, width}, {.dtype = DType::f64, .backend = &backend("cpu")});
  communicator.allgatherv(rows, Tensor::from<double>({counts[rank], width}, own.rows), counts).wait();
  for (std::int64_t b = 0; b < batches; ++b) add_row(all, rows.data<double>() + b * width);
  if (!own.counts.empty()) allreduce_values(communicator, own.counts);
  auto count = own.counts.begin();
  for_each_sum(all, true, [&](double& sum) { sum = *count++; });

  Evaluation result;
  all.append_to(result.logs);
  result.loss_sum = all.loss_sum;
  result.count = std::llround(all.samples);
  result.correct = correct_count(all);
  return result;
}

void average_statistics(Model::State& model) {
  if (model.optimizer) model.optimizer->synchronise();
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
