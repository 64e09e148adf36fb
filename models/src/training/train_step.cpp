#include "training/train_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <ronde/core/trace.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/distributed/nccl_communicator.h>

#include "state/find_module.h"
#include "training/captured_pass.h"

namespace ronde::inline v0 {

TrainingLoss training_loss(const Model::State& model, const Variable& outputs, const StepData& data) {
  const Variable losses = losses_of_samples(*model.loss, outputs, data.targets,
                                            model.context(true, data.sample_keys).sum_over_ranks);
  const Tensor weights =
      weights_of_samples(model.loss_weights, outputs.shape(), data.targets, data.sample_keys);
  return {weighted_sum(losses, weights), weights};
}

void accumulate_gradients(Model::State& model, const StepData& data, RunningTotals& totals) {
  const EnableGrad enable_grad;  // the caller of `fit` may have a NoGrad
  const Variable outputs = (*model.module)(data.inputs, model.context(true, data.sample_keys));
  const TrainingLoss loss = [&] {
    const TraceScope scope("loss", "loss");
    return training_loss(model, outputs, data);
  }();
  {
    const TraceScope scope("loss", "metrics");
    totals.add({loss.sum.value(), outputs.value(), data.targets, loss.weights, outputs.mask()});
  }
  loss.sum.backward();
}

const Module* find_synchronized(const Module& net) {
  return find_module(net, [](const Module& module) { return module.is_synchronized(); });
}

bool is_synchronized(const Model::State& model) {
  return model.module->output_is_masked() || find_synchronized(*model.module) != nullptr;
}

TrainStep::TrainStep(Model::State& model, std::int64_t micro_batch, NonFiniteGuard* guard)
    : model_(model),
      micro_batch_(micro_batch),
      guard_(guard),
      captured_(std::make_unique<CapturedPass>(model, guard)) {}

TrainStep::~TrainStep() = default;

std::string TrainStep::take_fallback() {
  return captured_->take_fallback();
}

void TrainStep::begin() {
  if (!std::exchange(has_begun_, true)) model_.arena->zero_gradients();
}

// A batch goes one of three ways: as a graph that makes the update too (`updates`), as a graph of forward and
// backward (`is_repeated`), or in pieces, which an audit may compute twice.
void TrainStep::add(const StepData& data, BatchPosition position, RunningTotals& totals, StepAudit& audit) {
  begin();
  const bool is_first = !std::exchange(has_batches_, true);
  const std::int64_t count = data.inputs.size(0);
  samples_.samples += count;
  samples_.of_all_ranks += data.global_count;
  if (position == BatchPosition::last) model_.optimizer->expect(samples_);
  std::optional<DistributedOptimizer::NoSync> held_back;
  if (position == BatchPosition::within || audit.is_due()) held_back.emplace(*model_.optimizer);
  // On all ranks, whose shares of a batch differ by one sample.
  const std::int64_t ranks = model_.communicator->size();
  const std::int64_t largest = std::max(count, ceil_divide(data.global_count, ranks));
  const bool is_whole = micro_batch_ == 0 || micro_batch_ >= largest;
  const bool is_repeated = is_first && is_whole && !audit.is_due() && captured_->takes(data);
  const bool updates = is_repeated && position == BatchPosition::last && captured_->takes_update();
  if (is_first && guard_ && guard_->is_on())
    updates ? guard_->begin_update_on_device() : guard_->begin_update(totals);
  if (is_repeated) {
    if (!updates) return captured_->run(data, totals);
    updated_ = captured_->run_with_update(data, samples_, totals);
    return;
  }
  audit.run(totals, [&] {
    // What is synchronized needs the ranks in step, those without samples too, and the batch in one piece.
    if (is_synchronized(model_)) return accumulate_gradients(model_, data, totals);
    add_in_pieces(data, micro_batch_ > 0 ? micro_batch_ : count, totals);
  });
}

void TrainStep::add_in_pieces(const StepData& data, std::int64_t piece, RunningTotals& totals) {
  const std::int64_t count = data.inputs.size(0);
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t end = std::min(begin + piece, count);
    const StepData part{data.inputs.slice(0, begin, end), data.targets.slice(0, begin, end),
                        data.sample_keys.slice(0, begin, end)};
    std::optional<DistributedOptimizer::NoSync> held_back;
    if (end < count) held_back.emplace(*model_.optimizer);
    accumulate_gradients(model_, part, totals);
  }
}

std::int64_t TrainStep::update(double witness) {
  has_begun_ = has_batches_ = false;
  samples_.witness = witness;
  const StepSamples samples = std::exchange(samples_, {});
  const std::int64_t of_all_ranks = updated_ ? *updated_ : model_.optimizer->step(samples);
  updated_.reset();
  mark_gpu_step(*model_.communicator);
  return of_all_ranks;
}

}  // namespace ronde::inline v0
