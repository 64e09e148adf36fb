#include <ronde/core/backend.h>
#include <ronde/nn/adagrad.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

Adagrad::Adagrad(AdagradOptions options)
    : Optimizer({.learning_rate = options.learning_rate, .decay = options.decay, .clip = options.clip}),
      options_(options) {
  expect_not_negative("adagrad", "initial_accumulator_value", options.initial_accumulator_value);
  expect_not_negative("adagrad", "epsilon", options.epsilon);
}

ConfigDict Adagrad::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("initial_accumulator_value", options_.initial_accumulator_value);
  config.emplace_back("epsilon", options_.epsilon);
  return config;
}

void Adagrad::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  accumulator_ = make_state("accumulator", options_.initial_accumulator_value);
}

std::vector<OptimizerSlot> Adagrad::own_slots() const {
  return {{"accumulator", accumulator_}};
}

void Adagrad::update(const Slice& slice, const StepParams& step) {
  slice.values.backend().adagrad_step(slice.values, slice.gradients, slice.of(accumulator_), step,
                                      {.epsilon = options_.epsilon});
}

}  // namespace ronde::inline v0
