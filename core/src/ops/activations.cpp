#include <ronde/core/ops.h>

#include "autograd/variable_state.h"
#include "ops/unary.h"

namespace ronde::inline v0 {

Variable relu(const Variable& x) {
  return apply_unary(UnaryOp::relu, "relu", x);
}

Variable clipped_relu(const Variable& x, double highest) {
  require<UsageError>(highest >= 0.0, "[clipped_relu] expects a limit of at least 0, got ", highest);
  return apply_unary(UnaryOp::clipped_relu, "clipped_relu", x, {.alpha = highest});
}

Variable leaky_relu(const Variable& x, double negative_slope) {
  return apply_unary(UnaryOp::leaky_relu, "leaky_relu", x, {.alpha = negative_slope});
}

Variable elu(const Variable& x, double alpha) {
  return apply_unary(UnaryOp::elu, "elu", x, {.alpha = alpha});
}

Variable gelu(const Variable& x) {
  return apply_unary(UnaryOp::gelu, "gelu", x);
}

Variable silu(const Variable& x) {
  return apply_unary(UnaryOp::silu, "silu", x);
}

Variable sigmoid(const Variable& x) {
  const Variable y = apply_unary(UnaryOp::sigmoid, "sigmoid", x);
  Variable::State::set_origin(y, Variable::State::Origin::sigmoid, {x});
  return y;
}

Variable sigmoid_input(const Variable& y) {
  return Variable::State::input_of(y, Variable::State::Origin::sigmoid);
}

Variable tanh(const Variable& x) {
  return apply_unary(UnaryOp::tanh, "tanh", x);
}

Variable softplus(const Variable& x) {
  return apply_unary(UnaryOp::softplus, "softplus", x);
}

Variable softsign(const Variable& x) {
  return x / (1.0 + abs(x));
}

Variable selu(const Variable& x) {
  constexpr double kScale = 1.0507009873554804934, kAlpha = 1.6732632423543772848;
  return kScale * elu(x, kAlpha);
}

}  // namespace ronde::inline v0
