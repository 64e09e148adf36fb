#include <ronde/models/reduce_lr_on_plateau.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "callbacks/learning_rate.h"
#include "callbacks/python_number.h"

namespace ronde::inline v0 {

namespace {
constexpr const char* kName = "reduce_lr_on_plateau";
}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : options_(std::move(options)), monitor_(options_.monitor, options_.mode, std::abs(options_.min_delta)) {
  require<UsageError>(options_.factor < 1.0, "[reduce_lr_on_plateau] does not support a factor >= 1.0, got ",
                      options_.factor);
}

void ReduceLROnPlateau::on_train_begin(Model&, const TrainingPlan& plan) {
  monitor_.begin(plan, kName);
  monitor_.set_best({});
  wait_ = 0;
  cooldown_left_ = 0;
}

void ReduceLROnPlateau::on_epoch_end(std::int64_t epoch, Logs& logs) {
  log_learning_rate(logs, model().optimizer());
  if (!monitor_.is_due(plan(), epoch)) return;
  const double current = monitor_.value(logs, kName);
  if (cooldown_left_ > 0) --cooldown_left_;
  if (monitor_.improves(current)) {
    monitor_.set_best(current);
    wait_ = 0;
  } else if (cooldown_left_ == 0 && ++wait_ >= options_.patience) {
    reduce(epoch);
  }
}

void ReduceLROnPlateau::reduce(std::int64_t epoch) {
  Optimizer& optimizer = model().optimizer();
  if (optimizer.learning_rate() <= options_.min_lr) return;
  const double rate = std::max(optimizer.learning_rate() * options_.factor, options_.min_lr);
  optimizer.set_learning_rate(rate);
  cooldown_left_ = options_.cooldown;
  wait_ = 0;
  if (options_.verbose > 0 && is_main_rank())
    std::fputs(cat("\nEpoch ", epoch + 1, ": ReduceLROnPlateau reducing learning rate to ",
                   python_number(rate), ".\n")
                   .c_str(),
               stdout);
}

CallbackState ReduceLROnPlateau::state() const {
  return {{{"best", monitor_.saved_best()}, {"wait", wait_}, {"cooldown_left", cooldown_left_}}, {}};
}

void ReduceLROnPlateau::restore(const CallbackState& state) {
  const ConfigValue values(state.values);
  monitor_.restore_best(values.at("best"));
  wait_ = values.at("wait").as_int();
  cooldown_left_ = values.at("cooldown_left").as_int();
}

}  // namespace ronde::inline v0
