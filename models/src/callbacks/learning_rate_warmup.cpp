#include <ronde/models/learning_rate_warmup.h>

#include <cstdio>

#include <ronde/nn/schedule.h>

#include "callbacks/learning_rate.h"

namespace ronde::inline v0 {

LearningRateWarmup::LearningRateWarmup(LearningRateWarmupOptions options) : options_(options) {
  require<UsageError>(options.warmup_epochs > 0,
                      "[learning_rate_warmup] warmup_epochs must be positive, got ", options.warmup_epochs);
}

void LearningRateWarmup::on_train_begin(Model& model, const TrainingPlan&) {
  target_ =
      options_.initial_learning_rate > 0 ? options_.initial_learning_rate : model.optimizer().learning_rate();
}

void LearningRateWarmup::on_epoch_begin(std::int64_t epoch) {
  epoch_ = epoch;
}

void LearningRateWarmup::on_train_batch_begin(std::int64_t batch) {
  if (static_cast<double>(epoch_) >= options_.warmup_epochs) return;
  const double scale = options_.scale > 0 ? options_.scale : model().communicator().size();
  const double rate = warmup_learning_rate({.rate = target_,
                                            .scale = scale,
                                            .steps_per_epoch = plan().steps_per_epoch,
                                            .warmup_epochs = options_.warmup_epochs},
                                           epoch_, batch);
  change_learning_rate(model().optimizer(), rate, options_.momentum_correction);
}

void LearningRateWarmup::on_epoch_end(std::int64_t epoch, Logs& logs) {
  log_learning_rate(logs, model().optimizer());
  const bool done = static_cast<double>(epoch) < options_.warmup_epochs &&
                    static_cast<double>(epoch + 1) >= options_.warmup_epochs;
  if (!done || options_.verbose == 0 || !is_main_rank()) return;
  std::fputs(cat("\nEpoch ", epoch + 1, ": finished gradual learning rate warmup to ",
                 formatted("%g", model().optimizer().learning_rate()), ".\n")
                 .c_str(),
             stdout);
}

CallbackState LearningRateWarmup::state() const {
  return {{{"target", target_}}, {}};
}

void LearningRateWarmup::restore(const CallbackState& state) {
  target_ = ConfigValue(state.values).at("target").as_double();
}

}  // namespace ronde::inline v0
