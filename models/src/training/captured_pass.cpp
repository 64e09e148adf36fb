#include "training/captured_pass.h"

#include <algorithm>
#include <array>
#include <typeinfo>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/distributed/values.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/adagrad.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/rmsprop.h>
#include <ronde/nn/sgd.h>

#include "state/find_module.h"

namespace ronde::inline v0 {

namespace {

bool is_same(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && a.shape() == b.shape();
}

template <class... Types>
bool is_one_of(const Optimizer& optimizer) {
  return ((typeid(optimizer) == typeid(Types)) || ...);
}

/// Whether its step is the same kernels, whatever the step's number is, and the host reads nothing: not so
/// with a clip by norm or where averages overwrite weights at times, and not known of a user's. Those of
/// regularizers and of SGD's l2 have the number of samples in them, which is that of the main batch.
bool steps_on_device(const Optimizer& optimizer) {
  if (!is_one_of<SGD, RMSprop, Adam, AdamW, Adadelta, Adagrad>(optimizer)) return false;
  if (optimizer.moving_average() && optimizer.moving_average()->overwrite_frequency > 0) return false;
  const ConfigDict config = optimizer.config();
  return std::none_of(config.begin(), config.end(), [](const auto& entry) {
    return entry.first == "clipnorm" || entry.first == "global_clipnorm";
  });
}

/// NCCL wants a sum in the graphs of all ranks or of none, so one without a graph decides for all.
std::string first_reason(Communicator& communicator, const std::string& own) {
  if (communicator.size() == 1) return own;
  const std::vector<std::string> all = allgather_strings(communicator, own);
  const auto first =
      std::find_if(all.begin(), all.end(), [](const std::string& why) { return !why.empty(); });
  if (first == all.end()) return {};
  return cat("rank ", communicator.world_rank(static_cast<int>(first - all.begin())), ": ", *first);
}

/// A user's metric may read what it is given, and so do many of Keras', and accuracy of outputs (n, ..., 1).
bool counts_on_device(const Metric& metric, const Shape& outputs) {
  return typeid(metric) == typeid(Accuracy) && outputs.back() != 1;
}

/// What may compute something else each time; empty: nothing.
std::string what_may_vary(const Model::State& model) {
  const Module* module = find_module(*model.module, [](const Module& candidate) {
    return !is_of_known_class(candidate) && !candidate.is_repeatable();
  });
  if (module) return cat("[", module->label(), "] is of a class of the program's");
  if (is_of_known_class(*model.loss) || model.loss->is_repeatable()) return {};
  return cat("the loss ", model.loss->name(), " is of a class of the program's");
}

}  // namespace

CapturedPass::CapturedPass(Model::State& model, NonFiniteGuard* guard) : model_(model), guard_(guard) {
  const bool is_on_gpu = model.backend().device().type == DeviceType::cuda;
  if (!is_on_gpu || find_synchronized(*model.module) != nullptr) return;
  if (model.module->output_is_masked()) {
    if (RepeatedStep::may_capture(model.backend()))
      obstacle_ = "the net's outputs have a mask, and their loss is a mean over the steps of all ranks";
    return;
  }
  if (const std::string varying = what_may_vary(model); !varying.empty()) {
    if (RepeatedStep::may_capture(model.backend()))
      obstacle_ =
          cat(varying, ", which may compute something else each time (is_repeatable says it does not)");
    return;
  }
  for_each_module(*model.module, [this](const Module& module) { modules_.push_back(&module); });
  begin_anew();
  steps_on_device_ = steps_on_device(model.optimizer->optimizer());
}

void CapturedPass::begin_anew() {
  pass_.emplace(model_.backend());
  step_.emplace(model_.backend());
  trainable_ = trainable();
}

std::vector<bool> CapturedPass::trainable() const {
  const ParameterArena& arena = *model_.arena;
  const std::size_t weights = arena.segments().size();
  std::vector<bool> all;
  all.reserve(modules_.size() + weights);
  for (const Module* module : modules_) all.push_back(module->trainable());
  for (std::size_t i = 0; i < weights; ++i) all.push_back(arena.variable(i).requires_grad());
  return all;
}

bool CapturedPass::agree_on_graphs() {
  const std::array own{RepeatedStep::may_capture(model_.backend())};
  const std::vector<bool> all = allgather(*model_.communicator, own, "graphs").wait();
  const auto off = std::find(all.begin(), all.end(), false);
  if (off == all.end()) return true;
  // An environment that only some ranks were given: a setting of one of them is not lost that way.
  if (std::find(all.begin(), all.end(), true) != all.end())
    obstacle_ =
        cat("RONDE_CUDA_GRAPHS=off on rank ",
            model_.communicator->world_rank(static_cast<int>(off - all.begin())), ", which counts for all");
  pass_.reset();
  step_.reset();
  return false;
}

bool CapturedPass::takes(const StepData& data) {
  const int ranks = model_.communicator->size();
  const bool all_have_samples = ranks == 1 || data.global_count >= ranks;
  if (!pass_ || data.inputs.size(0) == 0 || !data.sample_keys.defined() || !all_have_samples) return false;
  if (!inputs_.defined()) {
    if (!agree_on_graphs()) return false;
    global_count_ = data.global_count;
    inputs_ = data.inputs;
    targets_ = data.targets;
    keys_ = data.sample_keys;
  }
  // This rank's samples may be as many as in the main batch where another one has fewer.
  if (ranks > 1 && data.global_count != global_count_) return false;
  if (trainable() != trainable_) begin_anew();
  return is_same(inputs_, data.inputs) && is_same(targets_, data.targets) && is_same(keys_, data.sample_keys);
}

bool CapturedPass::takes_update() const {
  const bool is_gated_there = guard_ && guard_->may_be_on_device();
  return model_.optimizer->options().local_steps.period == 1 &&
         (is_gated_there || !model_.optimizer->has_gate()) && steps_on_device_ &&
         std::all_of(model_.metrics.begin(), model_.metrics.end(), [&](const auto& metric) {
           return counts_on_device(*metric, model_.module->output_shape());
         });
}

void CapturedPass::forward_and_backward(Results& results) {
  const EnableGrad enable_grad;  // the caller of `fit` may have a NoGrad
  const Variable outputs = (*model_.module)(inputs_, model_.context(true, keys_));
  const TrainingLoss loss = training_loss(model_, outputs, {inputs_, targets_, keys_});
  if (!seed_.defined()) seed_ = Tensor::full(loss.sum.shape(), 1.0, loss.sum.value().options());
  loss.sum.backward(seed_);
  // What a repetition leaves behind are the gradients of all weights, of those that nothing reaches too.
  model_.arena->complete_gradients();
  results = {outputs.value(), loss.sum.value(), loss.weights};
}

void CapturedPass::run(const StepData& data, RunningTotals& totals) {
  // The sums over the ranks follow the graph.
  const DistributedOptimizer::NoSync held_back(*model_.optimizer);
  const bool called = pass_->run([&] {
    model_.arena->zero_gradients();  // again, when a capture was broken off
    forward_and_backward(of_pass_);
  });
  // The device has written them all.
  if (!called) model_.arena->use_gradients(model_.arena->gradients());
  totals.add({of_pass_.loss, of_pass_.outputs, data.targets, of_pass_.weights});
}

std::int64_t CapturedPass::count_and_update(const StepData& data, const StepSamples& samples,
                                            RunningTotals& totals) {
  std::optional<GatedUpdates> gated;
  if (guard_ && guard_->is_on()) gated.emplace(guard_->look(of_step_.loss));
  totals.add({of_step_.loss, of_step_.outputs, data.targets});
  return model_.optimizer->step(samples);
}

// When a capture was given up, on all ranks.
void CapturedPass::begin_pass_anew(const StepSamples& samples) {
  model_.optimizer->expect(samples);
  model_.arena->zero_gradients();
}

std::int64_t CapturedPass::run_with_update(const StepData& data, const StepSamples& samples,
                                           RunningTotals& totals) {
  Optimizer& optimizer = model_.optimizer->optimizer();
  const Optimizer::Counters counters = optimizer.counters();
  const RunningTotals::HostMark counted = totals.host_mark();
  RunningTotals::Mark sums;
  std::int64_t total = 0;
  bool called = false;
  step_->run(
      [&] {
        if (std::exchange(called, true)) begin_pass_anew(samples);
        forward_and_backward(of_step_);
      },
      [&] {
        if (!called) model_.arena->use_gradients(model_.arena->gradients());
        total = count_and_update(data, samples, totals);
      },
      {.before = [&] { sums = totals.mark(); },
       .undo =
           [&] {
             optimizer.set_counters(counters);
             totals.return_to(sums);
           },
       .agree =
           [&](const std::string& why) {
             std::string of_all = first_reason(*model_.communicator, why);
             if (!of_all.empty()) model_.optimizer->abandon_pass();
             return of_all;
           }});
  if (guard_ && guard_->is_on())
    guard_->end_update_on_device([&optimizer, &totals, counters, counted] {
      optimizer.set_counters(counters);
      totals.return_to(counted);
    });
  return total;
}

std::string CapturedPass::take_fallback() {
  if (told_) return {};
  std::string why = obstacle_;
  if (pass_) why = step_->fallback().empty() ? pass_->fallback() : step_->fallback();
  told_ = !why.empty();
  return why;
}

}  // namespace ronde::inline v0
