#include <ronde/core/backend.h>
#include <ronde/nn/rmsprop.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

RMSprop::RMSprop(RMSpropOptions options)
    : Optimizer({.learning_rate = options.learning_rate, .decay = options.decay, .clip = options.clip}),
      options_(options) {
  expect_decay_rate("rmsprop", "rho", options.rho);
  expect_momentum("rmsprop", options.momentum);
  expect_not_negative("rmsprop", "epsilon", options.epsilon);
}

ConfigDict RMSprop::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("rho", options_.rho);
  config.emplace_back("momentum", options_.momentum);
  config.emplace_back("epsilon", options_.epsilon);
  config.emplace_back("centered", options_.centered);
  return config;
}

ConfigDict RMSprop::own_settings() const {
  if (options_.epsilon_inside_sqrt) return {};
  return {{"epsilon_inside_sqrt", false}};
}

void RMSprop::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  velocity_ = make_state("velocity");
  momentum_ = options_.momentum != 0.0 ? make_state("momentum") : Tensor();
  mean_gradient_ = options_.centered ? make_state("average_gradient") : Tensor();
}

std::vector<OptimizerSlot> RMSprop::own_slots() const {
  std::vector<OptimizerSlot> slots{{"velocity", velocity_}};
  if (momentum_.defined()) slots.push_back({"momentum", momentum_});
  if (mean_gradient_.defined()) slots.push_back({"average_gradient", mean_gradient_});
  return slots;
}

void RMSprop::update(const Slice& slice, const StepParams& step) {
  slice.values.backend().rmsprop_step(slice.values, slice.gradients, slice.of(velocity_), slice.of(momentum_),
                                      slice.of(mean_gradient_), step,
                                      {.rho = options_.rho,
                                       .momentum = options_.momentum * momentum_factor(),
                                       .epsilon = options_.epsilon,
                                       .centered = options_.centered,
                                       .epsilon_inside_sqrt = options_.epsilon_inside_sqrt});
}

}  // namespace ronde::inline v0
