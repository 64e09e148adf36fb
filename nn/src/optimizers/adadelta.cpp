#include <ronde/core/backend.h>
#include <ronde/nn/adadelta.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

Adadelta::Adadelta(AdadeltaOptions options)
    : Optimizer({.learning_rate = options.learning_rate, .decay = options.decay, .clip = options.clip}),
      options_(options) {
  expect_decay_rate("adadelta", "rho", options.rho);
  expect_not_negative("adadelta", "epsilon", options.epsilon);
}

ConfigDict Adadelta::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("rho", options_.rho);
  config.emplace_back("epsilon", options_.epsilon);
  return config;
}

void Adadelta::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  accumulated_gradient_ = make_state("accumulated_grad");
  accumulated_delta_ = make_state("accumulated_delta_var");
}

std::vector<OptimizerSlot> Adadelta::own_slots() const {
  return {{"accumulated_grad", accumulated_gradient_}, {"accumulated_delta_var", accumulated_delta_}};
}

void Adadelta::update(const Slice& slice, const StepParams& step) {
  slice.values.backend().adadelta_step(slice.values, slice.gradients, slice.of(accumulated_gradient_),
                                       slice.of(accumulated_delta_), step,
                                       {.rho = options_.rho, .epsilon = options_.epsilon});
}

}  // namespace ronde::inline v0
