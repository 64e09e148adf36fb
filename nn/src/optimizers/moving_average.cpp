// The moving average of the weights that any optimizer may keep.
#include <ronde/core/backend.h>
#include <ronde/core/trace.h>
#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

void Optimizer::set_moving_average(MovingAverageOptions options) {
  require<UsageError>(
      arena_ == nullptr,
      "[optimizer] is attached: its moving average is to be set before `attach` or `compile`");
  require<UsageError>(options.momentum >= 0 && options.momentum <= 1,
                      "[optimizer] the momentum of a moving average must be in [0, 1], got ",
                      options.momentum);
  require<UsageError>(options.overwrite_frequency >= 0,
                      "[optimizer] the overwrite_frequency of a moving average must not be negative, got ",
                      options.overwrite_frequency);
  moving_average_ = options;
}

ConfigDict Optimizer::moving_average_config() const {
  if (!moving_average_) return {};
  const std::int64_t frequency = moving_average_->overwrite_frequency;
  return {{"use_ema", true},
          {"ema_momentum", moving_average_->momentum},
          {"ema_overwrite_frequency", frequency > 0 ? ConfigValue(frequency) : ConfigValue()}};
}

// A step of gradient descent on |average - w|^2 / 2: average -= (1 - momentum) * (average - w).
void Optimizer::update_average() {
  const TraceScope scope("optimizer", "update moving average");
  const double momentum = iterations_ == 0 ? 0.0 : moving_average_->momentum;
  const StepParams towards_weights{.learning_rate = 1.0 - momentum, .grad_scale = -1.0, .weight_decay = 1.0};
  for (const Slice& slice : slices())
    slice.values.backend().sgd_step(slice.of(average_), slice.values, {}, towards_weights, {});
}

void Optimizer::overwrite_weights() {
  const std::int64_t frequency = moving_average_->overwrite_frequency;
  if (frequency == 0 || iterations_ % frequency != 0) return;
  for (const Slice& slice : slices()) slice.values.copy_from(slice.of(average_));
}

void Optimizer::swap_average() {
  require<UsageError>(moving_average_.has_value(), "[optimizer] ", name(),
                      " keeps no moving average: see set_moving_average");
  if (iterations_ == 0) start_average();  // no update has yet
  for (const Slice& slice : slices()) {
    const Tensor values = slice.values.clone();
    slice.values.copy_from(slice.of(average_));
    slice.of(average_).copy_from(values);
  }
  is_averaged_ = !is_averaged_;
  arena().bump_version();
}

void Optimizer::start_average() {
  for (const Slice& slice : slices()) slice.of(average_).copy_from(slice.values);
}

void Optimizer::keep_average() {
  if (!is_averaged_) return;
  start_average();
  is_averaged_ = false;
}

std::vector<OptimizerSlot> Optimizer::slots() const {
  std::vector<OptimizerSlot> slots = own_slots();
  if (average_.defined()) slots.insert(slots.begin(), {is_averaged_ ? kTrainedSlot : kAverageSlot, average_});
  return slots;
}

}  // namespace ronde::inline v0
