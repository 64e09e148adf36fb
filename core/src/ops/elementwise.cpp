#include <ronde/core/ops.h>

#include "ops/unary.h"

namespace ronde::inline v0 {

Variable operator-(const Variable& x) {
  return apply_unary(UnaryOp::affine, "negate", x, {.alpha = -1.0});
}

Variable exp(const Variable& x) {
  return apply_unary(UnaryOp::exp, "exp", x);
}

Variable log(const Variable& x) {
  return apply_unary(UnaryOp::log, "log", x);
}

Variable sqrt(const Variable& x) {
  return apply_unary(UnaryOp::sqrt, "sqrt", x);
}

Variable square(const Variable& x) {
  return apply_unary(UnaryOp::square, "square", x);
}

Variable abs(const Variable& x) {
  return apply_unary(UnaryOp::abs, "abs", x);
}

Variable pow(const Variable& x, double exponent) {
  return apply_unary(UnaryOp::power, "pow", x, {.alpha = exponent});
}

Variable sin(const Variable& x) {
  return apply_unary(UnaryOp::sin, "sin", x);
}

Variable cos(const Variable& x) {
  return apply_unary(UnaryOp::cos, "cos", x);
}

Variable clamp(const Variable& x, double low, double high) {
  require<UsageError>(low <= high, "[clamp] low ", low, " is above high ", high);
  return apply_unary(UnaryOp::clamp, "clamp", x, {.alpha = low, .beta = high});
}

}  // namespace ronde::inline v0
