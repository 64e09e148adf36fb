#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/nn/adamax.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

Adamax::Adamax(AdamaxOptions options)
    : Optimizer({.learning_rate = options.learning_rate, .decay = options.decay, .clip = options.clip}),
      options_(options) {
  expect_moments("adamax", options);
}

ConfigDict Adamax::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("beta_1", options_.beta_1);
  config.emplace_back("beta_2", options_.beta_2);
  config.emplace_back("epsilon", options_.epsilon);
  return config;
}

void Adamax::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  momentum_ = make_state("momentum");
  norm_ = make_state("norm");
  gradient_ = make_scratch();
  scratch_ = make_scratch();
}

std::vector<OptimizerSlot> Adamax::own_slots() const {
  return {{"momentum", momentum_}, {"norm", norm_}};
}

void Adamax::update(const Slice& slice, const StepParams& step) {
  const Tensor &w = slice.values, m = slice.of(momentum_), u = slice.of(norm_);
  const Tensor g = gradient_.view(0, w.shape()), size = scratch_.view(0, w.shape());
  Backend& backend = w.backend();
  scale_gradients(g, slice.gradients, step);
  backend.unary(UnaryOp::affine, m, m, {.alpha = options_.beta_1});
  backend.accumulate(m, g, 1.0 - options_.beta_1);
  backend.unary(UnaryOp::abs, size, g, {});
  backend.unary(UnaryOp::affine, u, u, {.alpha = options_.beta_2});
  backend.binary(BinaryOp::maximum, u, u, size);
  backend.unary(UnaryOp::affine, size, u, {.alpha = 1.0, .beta = options_.epsilon});
  backend.binary(BinaryOp::divide, g, m, size);
  const double beta_1 = double{static_cast<float>(options_.beta_1)};
  const double correction = 1.0 - std::pow(beta_1, static_cast<double>(iterations() + 1));
  backend.accumulate(w, g, -step.learning_rate / correction);
}

}  // namespace ronde::inline v0
