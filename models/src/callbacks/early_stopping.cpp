#include <ronde/models/early_stopping.h>

#include <cmath>
#include <cstdio>

namespace ronde::inline v0 {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)), monitor_(options_.monitor, options_.mode, std::abs(options_.min_delta)) {}

void EarlyStopping::on_train_begin(Model&, const TrainingPlan& plan) {
  monitor_.require_available(plan, "early_stopping");
  monitor_.set_best({});
  wait_ = 0;
  stopped_epoch_ = -1;
  best_epoch_ = 0;
  best_values_ = best_statistics_ = Tensor();
}

void EarlyStopping::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (epoch < options_.start_from_epoch) return;
  const double current = monitor_.value(logs, "early_stopping");
  if (options_.restore_best_weights && !best_values_.defined()) remember_weights(epoch);
  ++wait_;
  if (monitor_.improves(current)) {
    monitor_.set_best(current);
    best_epoch_ = epoch;
    if (options_.restore_best_weights) remember_weights(epoch);
    if (!options_.baseline || monitor_.better(current, *options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ < options_.patience || epoch == 0) return;
  stopped_epoch_ = epoch;
  model().stop_training();
  if (options_.restore_best_weights) restore_weights();
}

void EarlyStopping::on_train_end(const Logs&) {
  if (stopped_epoch_ < 0 || options_.verbose == 0 || !is_main_rank()) return;
  std::fputs(cat("Epoch ", stopped_epoch_ + 1, ": early stopping\n").c_str(), stdout);
}

void EarlyStopping::remember_weights(std::int64_t epoch) {
  best_epoch_ = epoch;
  best_values_ = model().arena().values().clone();
  best_statistics_ = model().arena().buffers().clone();
}

void EarlyStopping::restore_weights() {
  if (options_.verbose > 0 && is_main_rank())
    std::fputs(
        cat("Restoring model weights from the end of the best epoch: ", best_epoch_ + 1, ".\n").c_str(),
        stdout);
  ParameterArena& arena = model().arena();
  arena.values().copy_from(best_values_);
  arena.buffers().copy_from(best_statistics_);
  arena.bump_version();
}

}  // namespace ronde::inline v0
