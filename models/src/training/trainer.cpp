#include "training/trainer.h"

#include <algorithm>
#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/models/progress_bar.h>

#include "training/evaluator.h"
#include "training/fit_plan.h"
#include "training/resume.h"
#include "training/train_step.h"
#include "weights/saved_run.h"

namespace ronde::inline v0 {

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
      callbacks_(options.callbacks),
      totals_(state.backend(), state.metrics, loader_.sampler().shards()),
      checkpointer_(state, [this](const std::string& problem) { warn(problem); }),
      epoch_(options.initial_epoch) {
  if (options.deterministic) sharded_step_.emplace(state, loader_.sampler().shards());
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
  require_same_plan(run.plan, run_plan(state_, loader_.sampler().options(), options_, plan_));
  require<UsageError>(state_.has_optimizer_of_run,
                      "[fit] cannot resume: the optimizer has not the state of the run to go on with; call "
                      "compile before load_weights");
  const std::string differences = describe_differences(run.arithmetic, run_arithmetic(state_, options_));
  if (!differences.empty())
    warn(cat("resuming with ", differences,
             ": sums are rounded differently, so this is not bit for bit the "
             "run that never stopped"));
  require<InputError>(run.epoch_step <= plan_.steps_per_epoch, state_.source, ": ", run.epoch_step,
                      " steps are done of an epoch of ", plan_.steps_per_epoch);
  epoch_ = run.epoch;
  epoch_step_ = run.epoch_step;
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
  checkpointer_.finish();
  Logs last;
  for (const auto& [name, values] : history_.values) last.set(name, values.back());
  for (Callback* callback : callbacks_) callback->on_train_end(last);
  state_.run = saved_run();
  broadcast_run(*state_.communicator, state_.run);  // callbacks' states are rank 0's
  state_.has_optimizer_of_run = true;
  ended_ = true;
  return std::move(history_);
}

void Trainer::begin() {
  if (!plan_.resumed) state_.stop = false;
  for (Callback* callback : callbacks_) callback->attach(model_, plan_);
  for (Callback* callback : callbacks_) callback->on_train_begin(model_, plan_);
  if (epoch_step_ == 0 || is_over()) restore_callbacks_and_rate();
  loader_.start(epoch_ * plan_.steps_per_epoch + epoch_step_, steps_left());
}

void Trainer::run_epoch() {
  for (Callback* callback : callbacks_) callback->on_epoch_begin(epoch_);
  totals_.reset();
  stopwatch_.start_epoch();
  restore_callbacks_and_rate();
  while (epoch_step_ < plan_.steps_per_epoch && steps_left() > 0 && !state_.stop) {
    run_step();
    after_step();
  }
  if (state_.stop || !is_cut_short()) end_epoch();
}

void Trainer::run_step() {
  for (Callback* callback : callbacks_) callback->on_train_batch_begin(epoch_step_);
  stopwatch_.start();
  const Batch* batch = loader_.next();
  require(batch != nullptr, "[fit] the loader ended before step ", epoch_step_);
  stopwatch_.stop(update(*batch));
  ++state_.progress.steps;
  ++epoch_step_;
}

/// Returns the number of samples of all ranks.
std::int64_t Trainer::update(const Batch& batch) {
  const StepData data{batch.inputs, batch.targets, batch.sample_keys};
  if (sharded_step_) return sharded_step_->run(data, batch.global_count, totals_);
  state_.statistics_differ = true;
  return train_step(state_, data, options_.micro_batch, totals_);
}

void Trainer::after_step() {
  Logs logs;
  const bool wanted = std::any_of(callbacks_.begin(), callbacks_.end(),
                                  [](const Callback* callback) { return callback->wants_batch_logs(); });
  if (wanted) totals_.local().append_to(logs);
  for (Callback* callback : callbacks_) callback->on_train_batch_end(epoch_step_ - 1, logs);
  if (!state_.stop) offer_save_after_step();
}

void Trainer::end_epoch() {
  const std::int64_t epoch = epoch_;
  Logs logs;
  finish_training_part(logs);
  state_.progress.epochs = epoch + 1;
  stopwatch_.report(state_.progress);
  if (options_.validation) validate(logs);
  // From here on the epoch has ended: what a callback saves by itself goes on with the next one.
  ++epoch_;
  epoch_step_ = 0;
  const Logs before = logs;
  record(epoch, before);
  for (Callback* callback : callbacks_) callback->on_epoch_end(epoch, logs);
  take_back(before);
  record(epoch, logs);
  if (loss_is_finite_) offer_save_after_epoch(epoch, logs);
  checkpointer_.look_after();
}

void Trainer::finish_training_part(Logs& logs) {
  const Totals totals = totals_.reduced(*state_.communicator);
  loss_is_finite_ = std::isfinite(totals.loss.sum);
  if (!loss_is_finite_ && !state_.stop) throw_non_finite();
  totals.append_to(logs);
  average_statistics(state_);
}

void Trainer::throw_non_finite() const {
  throw CollectiveError(cat("[fit] the training loss is not a finite number after ", state_.progress.steps,
                            " steps; a smaller learning rate may help"),
                        ExitStatus::non_finite, 0);
}

void Trainer::validate(Logs& logs) {
  for (Callback* callback : callbacks_) callback->on_test_begin();
  const std::int64_t batch = options_.validation_batch_size > 0 && !options_.deterministic
                                 ? options_.validation_batch_size * state_.communicator->size()
                                 : plan_.global_batch;
  lend_metrics();
  const Evaluation evaluation =
      evaluate_dataset(state_, *options_.validation, batch, loader_.sampler().options().virtual_shards);
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
    totals_.reduced(*state_.communicator).append_to(logs);
    return logs;
  });
  offer(point);
}

void Trainer::offer_save_after_epoch(std::int64_t epoch, const Logs& logs) {
  SavePoint point(epoch, -1, [&logs] { return logs; });
  offer(point);
}

void Trainer::offer(SavePoint& point) {
  for (Callback* callback : callbacks_) callback->on_save_point(point);
  checkpointer_.carry_out(point, [this] { return saved_run(); });
}

SavedRun Trainer::saved_run() const {
  SavedRun run{.epoch = epoch_,
               .epoch_step = epoch_step_,
               .stopped = state_.stop,
               .plan = run_plan(state_, loader_.sampler().options(), options_, plan_),
               .arithmetic = run_arithmetic(state_, options_)};
  if (epoch_step_ > 0) run.totals = totals_.gathered(*state_.communicator);
  for (const std::vector<double>& of_rank : run.totals)
    if (!std::isfinite(of_rank.front())) throw_non_finite();
  run.history = history_;
  if (state_.communicator->rank() == 0) run.callbacks = save_callbacks(callbacks_);
  return run;
}

void Trainer::warn(const std::string& problem) const {
  ronde::warn(*state_.communicator, options_, problem);
}

}  // namespace ronde::inline v0
