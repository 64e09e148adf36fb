#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/nn/adam.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

Adam::Adam(AdamOptions options) : Adam(options, 0.0) {}

Adam::Adam(const AdamOptions& options, double weight_decay)
    : Optimizer({.learning_rate = options.learning_rate,
                 .decay = options.decay,
                 .weight_decay = weight_decay,
                 .clip = options.clip}),
      options_(options) {
  expect_moments("adam", options);
}

ConfigDict Adam::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("beta_1", options_.beta_1);
  config.emplace_back("beta_2", options_.beta_2);
  config.emplace_back("epsilon", options_.epsilon);
  config.emplace_back("amsgrad", options_.amsgrad);
  return config;
}

void Adam::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  momentum_ = make_state("momentum");
  velocity_ = make_state("velocity");
  max_velocity_ = options_.amsgrad ? make_state("velocity_hat") : Tensor();
}

std::vector<OptimizerSlot> Adam::own_slots() const {
  std::vector<OptimizerSlot> slots{{"momentum", momentum_}, {"velocity", velocity_}};
  if (max_velocity_.defined()) slots.push_back({"velocity_hat", max_velocity_});
  return slots;
}

void Adam::update(const Slice& slice, const StepParams& step) {
  const auto t = static_cast<double>(iterations() + 1);
  const auto power = [t](double beta) { return std::pow(double{static_cast<float>(beta)}, t); };
  const double correction = std::sqrt(1.0 - power(options_.beta_2)) / (1.0 - power(options_.beta_1));
  slice.values.backend().adam_step(slice.values, slice.gradients, slice.of(momentum_), slice.of(velocity_),
                                   slice.of(max_velocity_), step,
                                   {.beta_1 = options_.beta_1,
                                    .beta_2 = options_.beta_2,
                                    .epsilon = options_.epsilon,
                                    .bias_correction = correction});
}

AdamW::AdamW(AdamWOptions options)
    : Adam({.learning_rate = options.learning_rate,
            .beta_1 = options.beta_1,
            .beta_2 = options.beta_2,
            .epsilon = options.epsilon,
            .amsgrad = options.amsgrad,
            .decay = options.decay,
            .clip = options.clip},
           options.weight_decay) {}

}  // namespace ronde::inline v0
