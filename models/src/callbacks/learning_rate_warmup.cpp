#include <ronde/models/learning_rate_warmup.h>

#include <array>
#include <cstdio>

#include <ronde/core/backend.h>
#include <ronde/nn/schedule.h>

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
  set_rate(warmup_learning_rate({.rate = target_,
                                 .scale = scale,
                                 .steps_per_epoch = plan().steps_per_epoch,
                                 .warmup_epochs = options_.warmup_epochs},
                                epoch_, batch));
}

void LearningRateWarmup::on_epoch_end(std::int64_t epoch, Logs& logs) {
  const double rate = model().optimizer().learning_rate();
  logs.set("lr", rate);
  const bool done = static_cast<double>(epoch) < options_.warmup_epochs &&
                    static_cast<double>(epoch + 1) >= options_.warmup_epochs;
  if (!done || options_.verbose == 0 || !is_main_rank()) return;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%g", rate);
  std::fputs(
      cat("\nEpoch ", epoch + 1, ": finished gradual learning rate warmup to ", text.data(), ".\n").c_str(),
      stdout);
}

void LearningRateWarmup::set_rate(double rate) {
  Optimizer& optimizer = model().optimizer();
  const double ratio = rate / optimizer.learning_rate();
  optimizer.set_learning_rate(rate);
  // A velocity that already holds the old rate is scaled itself, which is the same as scaling the momentum
  // once.
  const bool velocity_holds_rate = optimizer.name() == "SGD" || optimizer.name() == "RMSprop";
  if (!options_.momentum_correction || !velocity_holds_rate || ratio == 1.0) return;
  for (const OptimizerSlot& slot : optimizer.slots())
    if (slot.name == "momentum")
      slot.values.backend().unary(UnaryOp::affine, slot.values, slot.values, {.alpha = ratio, .beta = 0.0});
}

}  // namespace ronde::inline v0
