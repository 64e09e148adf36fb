#include <ronde/core/backend.h>
#include <ronde/nn/sgd.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

SGD::SGD(SGDOptions options)
    : Optimizer({.learning_rate = options.learning_rate,
                 .decay = options.decay,
                 .weight_decay = options.weight_decay,
                 .clip = options.clip}),
      options_(options) {
  expect_momentum("sgd", options.momentum);
  expect_not_negative("sgd", "l2", options.l2);
  require<UsageError>(options.l2 == 0.0 || options.clip.value == 0.0,
                      "[sgd] l2 and a clip by value cannot be used together");
}

ConfigDict SGD::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("momentum", options_.momentum);
  config.emplace_back("nesterov", options_.nesterov);
  return config;
}

ConfigDict SGD::own_settings() const {
  if (options_.l2 == 0.0) return {};
  return {{"l2", options_.l2}};
}

void SGD::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  velocity_ = options_.momentum != 0.0 ? make_state("momentum") : Tensor();
}

std::vector<OptimizerSlot> SGD::own_slots() const {
  if (!velocity_.defined()) return {};
  return {{"momentum", velocity_}};
}

void SGD::update(const Slice& slice, const StepParams& step) {
  const double momentum = double{static_cast<float>(options_.momentum)} * momentum_factor();
  Backend& backend = slice.values.backend();
  // What the kernel scales by grad_scale is then grad_scale * g + l2 * w.
  if (options_.l2 != 0.0) backend.accumulate(slice.gradients, slice.values, options_.l2 / step.grad_scale);
  backend.sgd_step(slice.values, slice.gradients, slice.of(velocity_), step,
                   {.momentum = momentum, .nesterov = options_.nesterov});
}

}  // namespace ronde::inline v0
