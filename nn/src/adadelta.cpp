#include <ronde/core/backend.h>
#include <ronde/nn/adadelta.h>

namespace ronde::inline v0 {

Adadelta::Adadelta(AdadeltaOptions options)
    : Optimizer({.learning_rate = options.learning_rate,
                 .decay = options.decay,
                 .weight_decay = 0.0,
                 .clip = options.clip}),
      options_(options) {}

ConfigDict Adadelta::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("rho", options_.rho);
  config.emplace_back("epsilon", options_.epsilon);
  return config;
}

void Adadelta::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  accumulated_gradient_ = arena.make_state();
  accumulated_delta_ = arena.make_state();
}

std::vector<OptimizerSlot> Adadelta::slots() const {
  return {{"accumulated_grad", accumulated_gradient_}, {"accumulated_delta_var", accumulated_delta_}};
}

void Adadelta::update(const Tensor& values, const Tensor& gradients, const StepParams& step) {
  values.backend().adadelta_step(values, gradients, accumulated_gradient_, accumulated_delta_, step,
                                 {.rho = options_.rho, .epsilon = options_.epsilon});
}

}  // namespace ronde::inline v0
