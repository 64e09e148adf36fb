#include <ronde/core/ops.h>

#include "ops/unary.h"

namespace ronde::inline v0 {

Variable relu(const Variable& x) {
  return apply_unary(UnaryOp::relu, "relu", x);
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
  return apply_unary(UnaryOp::sigmoid, "sigmoid", x);
}

Variable tanh(const Variable& x) {
  return apply_unary(UnaryOp::tanh, "tanh", x);
}

}  // namespace ronde::inline v0
