#include <ronde/models/learning_rate_schedule_callback.h>

#include <cmath>

#include "callbacks/learning_rate.h"

namespace ronde::inline v0 {

LearningRateScheduleCallback::LearningRateScheduleCallback(LearningRateScheduleOptions options)
    : options_(std::move(options)) {
  require<UsageError>(options_.staircase || options_.function,
                      "[learning_rate_schedule] staircase = false needs a function of the epoch");
}

void LearningRateScheduleCallback::on_train_begin(Model& model, const TrainingPlan&) {
  initial_rate_ =
      options_.initial_learning_rate > 0 ? options_.initial_learning_rate : model.optimizer().learning_rate();
}

void LearningRateScheduleCallback::on_epoch_begin(std::int64_t epoch) {
  epoch_ = epoch;
}

void LearningRateScheduleCallback::on_train_batch_begin(std::int64_t batch) {
  if (epoch_ < options_.start_epoch || (options_.end_epoch && epoch_ >= *options_.end_epoch)) return;
  if (options_.staircase && batch > 0) return;
  const double epoch =
      static_cast<double>(epoch_) + static_cast<double>(batch) / static_cast<double>(plan().steps_per_epoch);
  change_learning_rate(model().optimizer(), initial_rate_ * multiplier(epoch), options_.momentum_correction);
}

double LearningRateScheduleCallback::multiplier(double epoch) const {
  if (options_.function) return options_.function(epoch);
  return std::pow(options_.multiplier, epoch - static_cast<double>(options_.start_epoch));
}

void LearningRateScheduleCallback::on_epoch_end(std::int64_t, Logs& logs) {
  log_learning_rate(logs, model().optimizer());
}

CallbackState LearningRateScheduleCallback::state() const {
  return {{{"initial_rate", initial_rate_}}, {}};
}

void LearningRateScheduleCallback::restore(const CallbackState& state) {
  initial_rate_ = ConfigValue(state.values).at("initial_rate").as_double();
}

}  // namespace ronde::inline v0
