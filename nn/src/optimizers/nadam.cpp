#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/nn/nadam.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

namespace {

double in_float(double value) {
  return double{static_cast<float>(value)};
}

}  // namespace

Nadam::Nadam(NadamOptions options)
    : Optimizer({.learning_rate = options.learning_rate, .decay = options.decay, .clip = options.clip}),
      options_(options) {
  expect_moments("nadam", options);
}

ConfigDict Nadam::config() const {
  ConfigDict config = Optimizer::config();
  config.emplace_back("beta_1", options_.beta_1);
  config.emplace_back("beta_2", options_.beta_2);
  config.emplace_back("epsilon", options_.epsilon);
  return config;
}

void Nadam::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  momentum_ = make_state("momentum");
  velocity_ = make_state("velocity");
  gradient_ = make_scratch();
  scratch_ = make_scratch();
}

std::vector<OptimizerSlot> Nadam::own_slots() const {
  return {{"momentum", momentum_}, {"velocity", velocity_}};
}

double Nadam::momentum_at(std::int64_t t) const {
  return in_float(options_.beta_1) * (1.0 - 0.5 * std::pow(in_float(0.96), static_cast<double>(t)));
}

// From one step to the next it takes one factor.
double Nadam::momentum_product(std::int64_t t) const {
  if (t < factors_) {
    factors_ = 0;
    product_ = 1.0;
  }
  while (factors_ < t) product_ *= momentum_at(++factors_);
  return product_;
}

void Nadam::update(const Slice& slice, const StepParams& step) {
  const Tensor &w = slice.values, m = slice.of(momentum_), v = slice.of(velocity_);
  const Tensor g = gradient_.view(0, w.shape()), root = scratch_.view(0, w.shape());
  Backend& backend = w.backend();
  const double beta_1 = in_float(options_.beta_1), beta_2 = in_float(options_.beta_2);
  const std::int64_t t = iterations() + 1;
  const double now = momentum_at(t), next = momentum_at(t + 1), product = momentum_product(t);

  scale_gradients(g, slice.gradients, step);
  backend.unary(UnaryOp::affine, m, m, {.alpha = beta_1});
  backend.accumulate(m, g, 1.0 - beta_1);
  backend.unary(UnaryOp::square, root, g, {});
  backend.unary(UnaryOp::affine, v, v, {.alpha = beta_2});
  backend.accumulate(v, root, 1.0 - beta_2);
  backend.unary(UnaryOp::affine, g, g, {.alpha = (1.0 - now) / (1.0 - product)});
  backend.accumulate(g, m, next / (1.0 - product * next));
  backend.unary(UnaryOp::affine, root, v, {.alpha = 1.0 / (1.0 - std::pow(beta_2, static_cast<double>(t)))});
  backend.unary(UnaryOp::sqrt, root, root, {});
  backend.unary(UnaryOp::affine, root, root, {.alpha = 1.0, .beta = options_.epsilon});
  backend.binary(BinaryOp::divide, g, g, root);
  backend.accumulate(w, g, -step.learning_rate);
}

}  // namespace ronde::inline v0
