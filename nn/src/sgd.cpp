#include <ronde/core/backend.h>
#include <ronde/nn/sgd.h>

namespace ronde::inline v0 {

SGD::SGD(SGDOptions options)
    : Optimizer({.learning_rate = options.learning_rate,
                 .decay = options.decay,
                 .weight_decay = 0.0,
                 .clip = options.clip}),
      options_(options) {}

ConfigDict SGD::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("momentum", options_.momentum);
  config.emplace_back("nesterov", options_.nesterov);
  return config;
}

void SGD::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  velocity_ = options_.momentum != 0.0 ? make_state() : Tensor();
}

std::vector<OptimizerSlot> SGD::slots() const {
  if (!velocity_.defined()) return {};
  return {{"momentum", velocity_}};
}

void SGD::update(const Slice& slice, const StepParams& step) {
  const double momentum = double{static_cast<float>(options_.momentum)} * momentum_factor();
  slice.values.backend().sgd_step(slice.values, slice.gradients, slice.of(velocity_), step,
                                  {.momentum = momentum, .nesterov = options_.nesterov});
}

}  // namespace ronde::inline v0
