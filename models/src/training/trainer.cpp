#include "training/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <ronde/core/backend.h>
#include <ronde/models/progress_bar.h>
#include <ronde/models/terminal.h>

#include "training/evaluator.h"
#include "training/train_step.h"

namespace ronde::inline v0 {

namespace {

std::int64_t global_batch(const FitOptions& options, const Communicator& communicator) {
  return options.global_batch_size > 0 ? options.global_batch_size : options.batch_size * communicator.size();
}

void check(const Model::State& model, const Dataset& data, const FitOptions& options) {
  require<UsageError>(model.optimizer != nullptr, "[fit] the model is not compiled");
  require_fitting_inputs(model, data, "fit");
  require<UsageError>(options.batch_size >= 1, "[fit] batch_size must be at least 1, got ",
                      options.batch_size);
  require<UsageError>(options.global_batch_size >= 0, "[fit] global_batch_size must not be negative, got ",
                      options.global_batch_size);
  require<UsageError>(options.epochs >= options.initial_epoch && options.initial_epoch >= 0, "[fit] epochs ",
                      options.epochs, " with initial_epoch ", options.initial_epoch);
  require<UsageError>(options.steps_per_epoch >= 0 && options.micro_batch >= 0,
                      "[fit] steps_per_epoch and micro_batch must not be negative");
  require<UsageError>(!options.repeat || options.steps_per_epoch > 0, "[fit] repeat needs steps_per_epoch");
  if (options.validation) require_fitting_inputs(model, *options.validation, "fit, validation");
}

ShardedSampler make_sampler(const Model::State& model, const Dataset& data, const FitOptions& options) {
  check(model, data, options);
  return ShardedSampler({.size = data.size(),
                         .global_batch = global_batch(options, *model.communicator),
                         .rank = model.communicator->rank(),
                         .world_size = model.communicator->size(),
                         .shuffle = options.shuffle,
                         .repeat = options.repeat,
                         .seed = model.options.seed});
}

int resolve_verbosity(const FitOptions& options, const Communicator& communicator) {
  if (communicator.rank() != 0) return 0;
  if (options.verbose >= 0) return options.verbose;
  return output_is_terminal() ? 1 : 2;
}

}  // namespace

Trainer::Trainer(Model& model, Model::State& state, const Dataset& data, const FitOptions& options)
    : model_(model),
      state_(state),
      options_(options),
      loader_(data, make_sampler(state, data, options),
              {.dtype = state.options.dtype, .backend = &state.backend()}),
      callbacks_(options.callbacks),
      totals_(state.backend(), state.metrics) {
  const ShardedSampler& sampler = loader_.sampler();
  plan_ = {
      .epochs = options.epochs,
      .initial_epoch = options.initial_epoch,
      .steps_per_epoch = options.steps_per_epoch > 0 ? options.steps_per_epoch : sampler.steps_per_epoch(),
      .global_batch = sampler.options().global_batch,
      .has_validation = options.validation != nullptr,
      .verbose = resolve_verbosity(options, *state.communicator)};
  add_progress_bar();
}

Trainer::~Trainer() = default;

/// Last, as Keras has it: what other callbacks print stands above the epoch's finished bar, and their
/// additions to the logs are in it.
void Trainer::add_progress_bar() {
  if (plan_.verbose == 0) return;
  progress_bar_ = std::make_unique<ProgressBar>(
      ProgressBarOptions{.style = plan_.verbose == 1 ? ProgressStyle::bar : ProgressStyle::lines});
  callbacks_.push_back(progress_bar_.get());
}

History Trainer::run() {
  state_.stop = false;
  for (Callback* callback : callbacks_) {
    callback->model_ = &model_;
    callback->plan_ = plan_;
  }
  for (Callback* callback : callbacks_) callback->on_train_begin(model_, plan_);
  loader_.start(plan_.initial_epoch * plan_.steps_per_epoch,
                (plan_.epochs - plan_.initial_epoch) * plan_.steps_per_epoch);
  Logs last;
  for (std::int64_t epoch = plan_.initial_epoch; epoch < plan_.epochs && !state_.stop; ++epoch)
    run_epoch(epoch);
  for (const auto& [name, values] : history_.values) last.set(name, values.back());
  for (Callback* callback : callbacks_) callback->on_train_end(last);
  return std::move(history_);
}

void Trainer::run_epoch(std::int64_t epoch) {
  for (Callback* callback : callbacks_) callback->on_epoch_begin(epoch);
  totals_.reset();
  stopwatch_.start_epoch();
  for (std::int64_t step = 0; step < plan_.steps_per_epoch; ++step) {
    run_step(step);
    after_step(step);
  }
  Logs logs;
  finish_training_part(logs);
  state_.progress.epochs = epoch + 1;
  stopwatch_.report(state_.progress);
  if (options_.validation) validate(logs);
  for (Callback* callback : callbacks_) callback->on_epoch_end(epoch, logs);
  record(epoch, logs);
}

void Trainer::run_step(std::int64_t step) {
  for (Callback* callback : callbacks_) callback->on_train_batch_begin(step);
  stopwatch_.start();
  const Batch* batch = loader_.next();
  require(batch != nullptr, "[fit] the loader ended before step ", step);
  const std::int64_t samples =
      train_step(state_, {batch->inputs, batch->targets, batch->sample_keys}, options_.micro_batch, totals_);
  stopwatch_.stop(samples);
  ++state_.progress.steps;
}

void Trainer::after_step(std::int64_t step) {
  Logs logs;
  const bool wanted = std::any_of(callbacks_.begin(), callbacks_.end(),
                                  [](const Callback* callback) { return callback->wants_batch_logs(); });
  if (wanted) totals_.local().append_to(logs);
  for (Callback* callback : callbacks_) callback->on_train_batch_end(step, logs);
}

void Trainer::finish_training_part(Logs& logs) {
  const Totals totals = totals_.reduced(*state_.communicator);
  if (!std::isfinite(totals.loss.sum))
    throw CollectiveError(cat("[fit] the training loss is not a finite number after ", state_.progress.steps,
                              " steps; a smaller learning rate may help"),
                          ExitStatus::non_finite, 0);
  totals.append_to(logs);
  average_statistics(state_);
}

void Trainer::validate(Logs& logs) {
  for (Callback* callback : callbacks_) callback->on_test_begin();
  const std::int64_t batch = options_.validation_batch_size > 0
                                 ? options_.validation_batch_size * state_.communicator->size()
                                 : plan_.global_batch;
  const Evaluation evaluation = evaluate_dataset(state_, *options_.validation, batch);
  for (Callback* callback : callbacks_) callback->on_test_end(evaluation.logs);
  for (const auto& [name, value] : evaluation.logs.entries()) logs.set("val_" + name, value);
}

void Trainer::record(std::int64_t epoch, const Logs& logs) {
  history_.epochs.push_back(epoch);
  for (const auto& [name, value] : logs.entries()) history_.values[name].push_back(value);
}

}  // namespace ronde::inline v0
