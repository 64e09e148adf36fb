#include <ronde/nn/regression_loss.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <ronde/core/ops.h>

#include "losses/loss_operands.h"
#include "module/unit_length.h"

namespace ronde::inline v0 {

namespace {

Variable at_least(const Variable& x, double low) {
  return clamp(x, low, std::numeric_limits<double>::infinity());
}

}  // namespace

Variable MeanSquaredError::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  return squared_error(x, t);
}

Variable MeanAbsoluteError::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  return mean_of_samples(abs(x - t));
}

Variable MeanAbsolutePercentageError::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  return 100.0 * mean_of_samples(abs(x - t) / at_least(abs(t), kLossEpsilon));
}

Variable MeanSquaredLogarithmicError::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  return mean_of_samples(square(log(1.0 + at_least(x, kLossEpsilon)) - log(1.0 + at_least(t, kLossEpsilon))));
}

Huber::Huber(Options options) : delta_(options.delta) {
  require<UsageError>(delta_ > 0.0 && std::isfinite(delta_),
                      "[huber] delta must be positive and finite, got ", delta_);
}

ConfigDict Huber::config() const {
  return delta_ == 1.0 ? ConfigDict() : ConfigDict{{"delta", delta_}};
}

Variable Huber::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  const Variable size = abs(x - t);
  const Variable curved = clamp(size, 0.0, delta_);
  return mean_of_samples(0.5 * square(curved) + delta_ * (size - curved));
}

// log(cosh(e)) = |e| + log(1 + exp(-2 |e|)) - log(2): no exponential overflows.
Variable LogCosh::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  const Variable size = abs(x - t);
  return mean_of_samples(size + log(1.0 + exp(-2.0 * size)) - std::numbers::ln2);
}

Variable Poisson::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  return mean_of_samples(x - t * log(x + kLossEpsilon));
}

Variable CosineSimilarity::operator()(const Variable& output, const Tensor& target) const {
  const auto [x, t] = loss_operands(name(), output, target);
  require(x.rank() >= 2, "[", name(), "] expects outputs of shape (n, k), got ", x.shape());
  return -mean_of_samples(sum(unit_length(x, {-1}) * unit_length(t, {-1}), {.axes = {-1}}));
}

}  // namespace ronde::inline v0
