#include "training/evaluator.h"

#include <cmath>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/thread_pool.h>
#include <ronde/core/trace.h>
#include <ronde/distributed/watchdog.h>
#include <ronde/models/view_outputs.h>

#include "training/train_step.h"

namespace ronde::inline v0 {

namespace {

std::int64_t correct_count(const Totals& totals) {
  for (const auto& [metric, sums] : totals.metrics)
    if (metric->counts_correct()) return std::llround(sums[0]);
  return 0;
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

void add_row(Totals& totals, const double* row) {
  totals.loss_sum += *row++;
  totals.samples += *row++;
  for_each_sum(totals, false, [&](double& sum) { sum += *row++; });
}

}  // namespace

/// Of this rank's batches.
struct Evaluator::Sums {
  std::vector<double> rows = {};    ///< of each: the loss and its count, and metrics that do not count
  std::vector<double> counts = {};  ///< of all: metrics that count, whose sums are the same in any order
};

Evaluator::Evaluator(Model::State& model, const Dataset& data, EvaluateOptions options)
    : model_(model),
      views_(std::move(options.views)),
      loader_(data,
              ShardedSampler({.size = data.size(), .global_batch = options.batch_size, .shuffle = false}),
              {.dtype = model.options.dtype, .backend = &model.backend()}),
      totals_(model.backend(), model.metrics, {}, model.arena.get()),
      weights_{.of_samples = weight_table(options.sample_weight,
                                          {.dtype = model.options.dtype, .backend = &model.backend()})} {}

void Evaluator::add_outcome(const Batch& batch) {
  const Variable outputs =
      view_outputs(*model_.module, batch.inputs, views_, model_.context(false, batch.sample_keys));
  const Variable losses = losses_of_samples(*model_.loss, outputs, batch.targets);
  const Tensor weights = weights_of_samples(weights_, outputs.shape(), batch.targets, batch.sample_keys);
  totals_.add(
      {weighted_sum(losses, weights).value(), outputs.value(), batch.targets, weights, outputs.mask()});
}

// Only metrics that do not count are read after each batch, which waits for the device.
Evaluator::Sums Evaluator::evaluate_batches(std::int64_t batches) {
  const FixedChunks fixed(kChunks);
  const NoGrad no_grad;
  Sums all;
  std::int64_t b = 0;
  const Tensor losses = Tensor::empty({batches}, {.dtype = DType::f64, .backend = &model_.backend()});
  while (const Batch* batch = loader_.next()) {
    add_outcome(*batch);
    totals_.move_loss(losses.view(b++, {}));
    note_watched_batch(*model_.communicator);
    all.rows.insert(all.rows.end(), {0.0, static_cast<double>(batch->size())});
    for (const auto& metric : model_.metrics) {
      if (metric->sums_are_counts()) continue;
      const MetricSums sums = metric->sums();
      all.rows.insert(all.rows.end(), sums.begin(), sums.end());
      metric->reset();
    }
  }
  auto row = all.rows.begin();
  for (const double loss : losses.to_vector<double>()) {
    *row = loss;
    row += static_cast<std::ptrdiff_t>(all.rows.size()) / batches;
  }
  Totals rest = totals_.local();
  for_each_sum(rest, true, [&](double sum) { all.counts.push_back(sum); });
  return all;
}

Evaluation Evaluator::run() {
  const TraceScope scope("evaluation", "evaluation");
  Communicator& communicator = *model_.communicator;
  const std::int64_t batches = loader_.sampler().steps_per_epoch();
  const std::vector<std::int64_t> counts = batches_of_ranks(batches, communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  totals_.reset();
  Totals all = totals_.local();
  loader_.start(batches * communicator.rank() / communicator.size(), counts[rank]);
  Sums own = evaluate_batches(counts[rank]);
  std::int64_t width = 2;
  for_each_sum(all, false, [&](double) { ++width; });
  const Tensor rows = Tensor::empty({batches, width}, {.dtype = DType::f64, .backend = &backend("cpu")});
  communicator.allgatherv(rows, Tensor::from<double>({counts[rank], width}, own.rows), counts).wait();
  for (std::int64_t b = 0; b < batches; ++b) add_row(all, rows.data<double>() + b * width);
  if (!own.counts.empty()) allreduce_values(communicator, own.counts);
  auto count = own.counts.begin();
  for_each_sum(all, true, [&](double& sum) { sum = *count++; });

  Evaluation result;
  all.append_to(result.logs, model_.metric_names);
  result.loss_sum = all.loss_sum;
  result.count = std::llround(all.samples);
  result.correct = correct_count(all);
  return result;
}

void average_statistics(Model::State& model) {
  if (model.optimizer) model.optimizer->synchronize();
  if (std::exchange(model.statistics_differ, false)) average_buffers(*model.arena, *model.communicator);
}

void require_fitting_inputs(const Model::State& model, const Dataset& data, const char* verb) {
  require<UsageError>(data.input_shape() == model.module->input_shape(), "[", verb,
                      "] the net takes inputs of shape ", model.module->input_shape(), ", the data set has ",
                      data.input_shape());
  require<UsageError>(data.size() > 0, "[", verb, "] the data set has no samples");
}

}  // namespace ronde::inline v0
