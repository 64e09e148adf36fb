#include "training/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/cuda.h>
#include <ronde/core/trace.h>
#include <ronde/distributed/watchdog.h>
#include <ronde/models/progress_bar.h>

#include "training/fit_plan.h"
#include "training/non_finite_report.h"
#include "training/one_plan.h"
#include "training/resume.h"
#include "training/run_plan.h"
#include "weights/saved_run.h"

namespace ronde::inline v0 {

namespace {

LossWeights make_loss_weights(const Model::State& state, const FitOptions& options) {
  const TensorOptions table{.dtype = state.options.dtype, .backend = &state.backend()};
  return {.of_classes = class_table(options.class_weight, table),
          .of_samples = weight_table(options.sample_weight, table)};
}

}  // namespace

Trainer::Trainer(Model& model, Model::State& state, const Dataset& data, const FitOptions& options)
    : model_(model),
      state_(state),
      options_(options),
      loader_(data, make_sampler(state, data, options),
              {.dtype = state.options.dtype,
               .backend = &state.backend(),
               .augmentation = options.augmentation,
               .threads = options.loader_threads}),
      plan_(make_plan(state, options, loader_.sampler())),
      identities_(run_identities(state, options)),
      callbacks_(options.callbacks),
      totals_(state.backend(), state.metrics, loader_.sampler().shards(), state.arena.get()),
      guard_(state, options.non_finite, [this] { recover_late(); }),
      train_step_(state, options.micro_batch, &guard_),
      rank_watch_(*state.communicator, [this](const std::string& problem) { warn(problem); }),
      checkpointer_(state, [this](const std::string& problem) { warn(problem); }),
      recovery_(model, state, checkpointer_, options.non_finite,
                [this](const std::string& problem) { warn(problem); }),
      replica_check_(state, options.check_replicas_every),
      audit_(state, options.audit_every),
      loss_weights_(state.loss_weights, make_loss_weights(state, options)),
      epoch_(options.initial_epoch) {
  if (options.deterministic) {
    use_deterministic_engines(state.backend());
    sharded_step_.emplace(state, loader_.sampler().shards());
  }
  if (options.audit_every > 0) use_repeatable_engines(state.backend());
  if (options.resume) go_on();
  plan_.initial_epoch = epoch_;
  plan_.initial_step = epoch_step_;
  add_progress_bar();
}

std::int64_t Trainer::steps_left() const {
  return std::max<std::int64_t>(0, plan_.last_step - epoch_ * plan_.steps_per_epoch - epoch_step_);
}

/// Whether max_steps ends the training within this epoch.
bool Trainer::is_cut_short() const {
  return steps_left() == 0 && epoch_step_ > 0 && epoch_step_ < plan_.steps_per_epoch;
}

bool Trainer::is_over() const {
  return epoch_ >= plan_.epochs || is_cut_short() || state_.stop;
}

Trainer::~Trainer() {
  state_.trainer = nullptr;
  if (ended_) return;
  state_.run.reset();  // the weights are no longer those of what was loaded
  state_.source.clear();
}

/// Last, as Keras has it: what other callbacks print stands above the epoch's finished bar, and their
/// additions to the logs are in it.
void Trainer::add_progress_bar() {
  if (plan_.verbose == 0) return;
  progress_bar_ = std::make_unique<ProgressBar>(
      ProgressBarOptions{.style = plan_.verbose == 1 ? ProgressStyle::bar : ProgressStyle::lines});
  callbacks_.push_back(progress_bar_.get());
}

void Trainer::go_on() {
  require<UsageError>(!state_.source.empty() || state_.run,
                      "[fit] cannot resume: this model was neither loaded from a file nor trained before");
  if (!state_.run)
    return warn(cat(state_.source,
                    ": holds no state of a training by Ronde: its weights are used, but this "
                    "cannot go on exactly where they come from"));
  const SavedRun& run = *state_.run;
  require_same_plan(run.plan, plan_of_run());
  require<UsageError>(state_.has_optimizer_of_run,
                      "[fit] cannot resume: the optimizer has not the state of the run to go on with; call "
                      "compile before load_weights");
  const std::string differences =
      describe_differences(run.arithmetic, run_arithmetic(state_, loader_.sampler().options(), options_));
  if (!differences.empty())
    warn(cat("resuming with ", differences,
             ": sums are rounded differently, so this is not bit for bit the "
             "run that never stopped"));
  if (state_.optimizer->has_lost_memory())
    warn(cat("resuming with compression ", to_string(state_.optimizer->options().compression),
             ": what the ranks had not sent yet is in no file, so this is not bit for bit the run that never "
             "stopped"));
  require<InputError>(run.epoch_step <= plan_.steps_per_epoch, state_.source, ": ",
                      counted(run.epoch_step, "step"), " are done of an epoch of ", plan_.steps_per_epoch);
  require_same_metrics(run, state_.metric_names, totals_.width());
  collectively(*state_.communicator, [&] { require_same_run(callbacks_, run.callbacks); });
  epoch_ = run.epoch;
  epoch_step_ = run.epoch_step;
  require<UsageError>(run.other_weights_by.empty() || run.stopped || is_over(),
                      "[fit] cannot resume: when the run ended, its callback ", run.other_weights_by,
                      " left other weights than those it would go on from: resume from a checkpoint of the "
                      "run, or call fit without resume");
  return_to_trained_weights(state_);
  recovery_.go_on(state_.source, run.non_finite);
  history_ = run.history;
  state_.stop = run.stopped;
  plan_.resumed = true;
  rate_ = state_.optimizer->optimizer().learning_rate();
}

void Trainer::restore_callbacks_and_rate() {
  if (!rate_) return;
  const SavedRun& run = *state_.run;
  std::vector<std::string> lines;
  collectively(*state_.communicator, [&] { lines = restore_callbacks(callbacks_, run.callbacks); });
  for (const std::string& line : lines) warn(line);
  state_.optimizer->optimizer().set_learning_rate(*rate_);
  rate_.reset();
  if (epoch_step_ > 0) totals_.restore(run.totals, *state_.communicator);
}

History Trainer::run() {
  state_.trainer = this;
  begin();
  while (!is_over()) run_epoch();
  if (speed_tuning_) speed_tuning_->finish();
  state_.optimizer->synchronize();
  use_average();
  checkpointer_.finish();
  state_.progress.unwritten_checkpoint = checkpointer_.unwritten();
  Logs last;
  for (const auto& [name, values] : history_.values) last.set(name, values.back());
  for (Callback* callback : callbacks_) callback->on_train_end(last);
  const std::string changed = other_weights_by();
  state_.run = saved_run();
  state_.run->other_weights_by = changed;
  broadcast_run(*state_.communicator, state_.run);  // callbacks' states are rank 0's
  state_.has_optimizer_of_run = true;
  ended_ = true;
  return std::move(history_);
}

std::string Trainer::other_weights_by() const {
  for (const Callback* callback : callbacks_)
    if (callback->left_other_weights())
      return callback->state_name().empty() ? "without a name" : callback->state_name();
  return plan_.resumed ? state_.run->other_weights_by : "";  // then there was nothing more to train
}

/// As Keras does, the trained net has the averages, if there are any. The run may go on from the trained
/// weights, which the optimizer keeps.
void Trainer::use_average() {
  const Optimizer& optimizer = state_.optimizer->optimizer();
  if (optimizer.moving_average() && !optimizer.is_averaged()) state_.optimizer->swap_average();
}

void Trainer::begin() {
  if (!plan_.resumed) state_.stop = false;
  state_.optimizer->optimizer().keep_average();  // of an earlier run; a repeated step has no place for it
  rank_watch_.begin({.deterministic = options_.deterministic,
                     .computed = state_.options.computed(),
                     .warn_of_crowding = !std::exchange(state_.told_of_crowding, true),
                     .global_batch = plan_.global_batch});
  require_one_plan(state_, plan_of_run(), plan_);
  stopwatch_.report(state_.progress);
  state_.progress.tuned.clear();
  state_.progress.unwritten_checkpoint.clear();
  if (options_.autotune) speed_tuning_.emplace(state_, options_);
  if (speed_tuning_ && speed_tuning_->is_done()) state_.progress.tuned = speed_tuning_->description();
  for (Callback* callback : callbacks_) callback->attach(model_, plan_);
  for (Callback* callback : callbacks_) callback->on_train_begin(model_, plan_);
  if (epoch_step_ == 0 || is_over()) restore_callbacks_and_rate();
  loader_.start(epoch_ * plan_.steps_per_epoch + epoch_step_, steps_left());
}

void Trainer::run_epoch() {
  const TraceScope scope("epoch", "epoch", {"epoch", epoch_ + 1});
  for (Callback* callback : callbacks_) callback->on_epoch_begin(epoch_);
  totals_.reset();
  stopwatch_.start_epoch();
  stopwatch_.report(state_.progress);
  restore_callbacks_and_rate();
  while (epoch_step_ < plan_.steps_per_epoch && steps_left() > 0 && !state_.stop) {
    const std::int64_t step = state_.progress.steps + 1;
    const TraceStep traced(step);
    run_step();
    after_step();
  }
  guard_.settle();
  if (state_.stop || !is_cut_short()) end_epoch();
}

void Trainer::run_step() {
  {
    const TraceScope scope("callback", "on_train_batch_begin");
    for (Callback* callback : callbacks_) callback->on_train_batch_begin(epoch_step_);
  }
  stopwatch_.start();
  begin_watched_step(*state_.communicator, state_.progress.steps + 1);
  const Batch* batch = next_batch();
  require(batch != nullptr, "[fit] the loader ended before step ", epoch_step_);
  batch_ = batch;
  train_on(*batch);
  stopwatch_.stop(batch->global_count);
  stopwatch_.report(state_.progress);
  rank_watch_.add_step(stopwatch_.own_seconds());
  tune(*batch);
  ++state_.progress.steps;
  ++epoch_step_;
}

const Batch* Trainer::next_batch() {
  const WatchedPhase phase(*state_.communicator, WatchedWork::loader);
  return loader_.next();
}

// An update never takes batches of two epochs, so a run that goes on at an epoch needs no gradients.
void Trainer::train_on(const Batch& batch) {
  const StepData data{batch.inputs, batch.targets, batch.sample_keys, batch.global_count};
  audit_.begin(state_.progress.steps + 1, waiting_);
  const bool is_first = waiting_++ == 0;
  const bool is_last =
      waiting_ == options_.backward_passes_per_step || epoch_step_ + 1 == plan_.steps_per_epoch;
  if (sharded_step_) {
    if (is_first) guard_.begin_update(totals_);
    sharded_step_->add(data, batch.global_count, totals_, audit_);
  } else {
    state_.statistics_differ = true;
    train_step_.add(data, is_last ? BatchPosition::last : BatchPosition::within, totals_, audit_);
    if (const std::string why = train_step_.take_fallback(); !why.empty())
      warn(cat("steps run kernel by kernel instead of as one graph: ", why));
  }
  for (const std::string& line : take_detours(state_.backend())) warn(line);
  audit_.agree();
  stopwatch_.mark();
  if (is_last) update(state_.progress.steps + 1);
}

void Trainer::tune(const Batch& batch) {
  const bool is_whole = batch.global_count == plan_.global_batch;
  if (!speed_tuning_ || speed_tuning_->is_done() || !is_whole || audit_.is_due()) return;
  speed_tuning_->add_step(stopwatch_.seconds(), waiting_ == 0);
  if (speed_tuning_->is_done()) state_.progress.tuned = speed_tuning_->description();
}

void Trainer::update(std::int64_t step) {
  waiting_ = 0;
  if (sharded_step_)
    sharded_step_->update(guard_.gate());
  else
    train_step_.update(guard_.is_on() && !train_step_.has_updated() ? loss_witness(totals_.loss_sum()) : 0.0);
  if (guard_.refused()) return recover(step);
  recovery_.note_update();
}

void Trainer::recover(std::int64_t step) {
  const bool alone = guard_.decides_alone();
  const NonFiniteReport report =
      alone ? find_own_non_finite(state_, *batch_) : find_non_finite(state_, *batch_);
  const std::string found = cat("[fit] step ", step, " (", epoch_step_ + step - state_.progress.steps,
                                " of epoch ", epoch_ + 1, ") is not finite: ", report.text);
  guard_.give_back(totals_);
  if (alone) throw Error(found, ExitStatus::non_finite);
  recovery_.recover(found, report.rank);
}

void Trainer::recover_late() {
  --state_.progress.steps;
  --epoch_step_;
  loader_.start(epoch_ * plan_.steps_per_epoch + epoch_step_, 1);
  batch_ = next_batch();
  recover(state_.progress.steps + 1);
}

void Trainer::after_step() {
  if (waiting_ == 0) replica_check_.after_step(state_.progress.steps);
  const TraceScope scope("callback", "on_train_batch_end");
  Logs logs;
  const bool wanted = std::any_of(callbacks_.begin(), callbacks_.end(),
                                  [](const Callback* callback) { return callback->wants_batch_logs(); });
  if (wanted) {
    guard_.settle();
    totals_.local().append_to(logs, state_.metric_names);
  }
  for (Callback* callback : callbacks_) callback->on_train_batch_end(epoch_step_ - 1, logs);
  // Nothing has changed, and a file of it would be one less of those to go back to.
  if (!state_.stop && waiting_ == 0 && !guard_.refused()) offer_save_after_step();
}

void Trainer::end_epoch() {
  const std::int64_t epoch = epoch_;
  if (waiting_ > 0) update(state_.progress.steps);  // stopped on the way to it
  Logs logs;
  finish_training_part(logs);
  state_.progress.epochs = epoch + 1;
  if (plan_.validates(epoch)) validate(logs);
  // From here on the epoch has ended: what a callback saves by itself goes on with the next one.
  ++epoch_;
  epoch_step_ = 0;
  const Logs before = logs;
  record(epoch, before);
  {
    const TraceScope scope("callback", "on_epoch_end");
    for (Callback* callback : callbacks_) callback->on_epoch_end(epoch, logs);
  }
  take_back(before);
  record(epoch, logs);
  if (loss_is_finite_) offer_save_after_epoch(epoch, logs);
  checkpointer_.look_after();
}

void Trainer::finish_training_part(Logs& logs) {
  const Totals totals = totals_.reduced(*state_.communicator);
  loss_is_finite_ = std::isfinite(totals.loss_sum);
  if (!loss_is_finite_ && !state_.stop) throw_non_finite();
  totals.append_to(logs, state_.metric_names);
  if (totals.samples == 0.0) {  // every step was skipped: there is no mean, and 0 would be a very good one
    const Logs means = logs;
    for (const auto& [name, value] : means.entries())
      logs.set(name, std::numeric_limits<double>::quiet_NaN());
  }
  average_statistics(state_);
  replica_check_.after_epoch();
}

void Trainer::throw_non_finite() const {
  throw CollectiveError(cat("[fit] the training loss is not a finite number after ",
                            counted(state_.progress.steps, "step"), "; a smaller learning rate may help"),
                        ExitStatus::non_finite, *state_.communicator, 0);
}

void Trainer::validate(Logs& logs) {
  for (Callback* callback : callbacks_) callback->on_test_begin();
  lend_metrics();
  if (!validator_)
    validator_.emplace(state_, *options_.validation,
                       EvaluateOptions{.batch_size = validation_batch(options_, loader_.sampler()),
                                       .sample_weight = options_.validation_sample_weight});
  const Evaluation evaluation = validator_->run();
  for (Callback* callback : callbacks_) callback->on_test_end(evaluation.logs);
  for (const auto& [name, value] : evaluation.logs.entries()) logs.set("val_" + name, value);
}

void Trainer::record(std::int64_t epoch, const Logs& logs) {
  history_.epochs.push_back(epoch);
  for (const auto& [name, value] : logs.entries()) history_.values[name].push_back(value);
}

/// What was recorded last.
void Trainer::take_back(const Logs& logs) {
  history_.epochs.pop_back();
  for (const auto& [name, value] : logs.entries()) history_.values[name].pop_back();
}

void Trainer::offer_save_after_step() {
  SavePoint point(epoch_, epoch_step_ - 1, [this] {
    Logs logs;
    totals_.reduced(*state_.communicator).append_to(logs, state_.metric_names);
    return logs;
  });
  offer(point);
}

void Trainer::offer_save_after_epoch(std::int64_t epoch, const Logs& logs) {
  SavePoint point(epoch, -1, [&logs] { return logs; });
  offer(point);
}

void Trainer::offer(SavePoint& point) {
  point.set_last_save_seconds(checkpointer_.last_save_seconds());
  for (Callback* callback : callbacks_) callback->on_save_point(point);
  checkpointer_.carry_out(point, [this] { return saved_run(); });
  if (!point.then()) return;
  checkpointer_.finish();
  point.then()();
}

ConfigDict Trainer::plan_of_run() const {
  return run_plan(state_, loader_.sampler().options(), options_, plan_, identities_);
}

SavedRun Trainer::saved_run() {
  guard_.settle();
  require<UsageError>(waiting_ == 0, "[save] ", waiting_, " of ",
                      counted(options_.backward_passes_per_step, "batch", "batches"),
                      " of an update are done, and their gradients are in no file: save behind its "
                      "last batch");
  SavedRun run{.epoch = epoch_,
               .epoch_step = epoch_step_,
               .stopped = state_.stop,
               .first_pass = loader_.sampler().options().first_pass,
               .plan = plan_of_run(),
               .arithmetic = run_arithmetic(state_, loader_.sampler().options(), options_)};
  run.non_finite = recovery_.times();
  if (epoch_step_ > 0) {
    run.totals = totals_.gathered(*state_.communicator);
    run.metrics = state_.metric_names;
  }
  for (const std::vector<double>& of_rank : run.totals)
    if (!std::isfinite(of_rank.front())) throw_non_finite();
  run.history = history_;
  if (state_.communicator->rank() == 0) run.callbacks = save_callbacks(callbacks_);
  return run;
}

void Trainer::warn(const std::string& problem) const {
  if (state_.communicator->rank() == 0) warn_or_print(options_.warn, problem);
}

}  // namespace ronde::inline v0
