/// Elementwise loops over dense arrays. Comparisons are written so that a NaN stays a NaN.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/transcendental.h"

namespace ronde::inline v0 {
namespace {

template <class F>
inline void map(float* y, const float* x, std::int64_t n, F f) {
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

// y is grad_x, whose element i is f(grad_y, x or y).
template <class F>
inline void map2(float* y, const float* a, const float* b, std::int64_t n, F f) {
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

// x^0.5: of -0, and of minus infinity, as pow has it.
inline float root_of(float x) {
  return x < -3.4028235e38f ? -x : __builtin_sqrtf(x + 0.0f);
}

// Calls `run(f)` with f(x) = x^exponent if that is a few multiplications, divisions and roots.
template <class Run>
inline bool with_power(float exponent, Run run) {
  const auto does = [&](auto f) {
    run(f);
    return true;
  };
  if (exponent == 1) return does([](float x) { return x; });
  if (exponent == 2) return does([](float x) { return x * x; });
  if (exponent == 3) return does([](float x) { return x * x * x; });
  if (exponent == -1) return does([](float x) { return 1 / x; });
  if (exponent == -2) return does([](float x) { return (1 / x) * (1 / x); });
  if (exponent == 0.5f) return does([](float x) { return root_of(x); });
  if (exponent == -0.5f) return does([](float x) { return 1 / root_of(x); });
  if (exponent == -1.5f) return does([](float x) { return 1 / x * (1 / root_of(x)); });
  return false;
}
inline bool is_power(float exponent) {
  return with_power(exponent, [](auto) {});
}

bool has_unary(UnaryOp op, float alpha) {
  switch (op) {
    case UnaryOp::power:
      return is_power(alpha);
    case UnaryOp::sin:
    case UnaryOp::cos:
      return false;
    default:
      return true;
  }
}

void unary(UnaryOp op, float* y, const float* x, std::int64_t n, float alpha, float beta) {
  switch (op) {
    case UnaryOp::affine:
      return map(y, x, n, [=](float v) { return alpha * v + beta; });
    case UnaryOp::relu:
      return map(y, x, n, [](float v) { return v <= 0 ? 0.0f : v; });
    case UnaryOp::leaky_relu:
      return map(y, x, n, [=](float v) { return v <= 0 ? alpha * v : v; });
    case UnaryOp::elu:
      return map(y, x, n, [=](float v) { return v <= 0 ? alpha * expm1_of(v) : v; });
    case UnaryOp::gelu:
      return map(y, x, n, [](float v) { return v * normal_cdf(v).value; });
    case UnaryOp::silu:
      return map(y, x, n, [](float v) { return v * logistic(v); });
    case UnaryOp::sigmoid:
      return map(y, x, n, [](float v) { return logistic(v); });
    case UnaryOp::tanh:
      return map(y, x, n, [](float v) { return tanh_of(v); });
    case UnaryOp::exp:
      return map(y, x, n, [](float v) { return exp_of(v); });
    case UnaryOp::log:
      return map(y, x, n, [](float v) { return log_of(v); });
    case UnaryOp::sqrt:
      return map(y, x, n, [](float v) { return __builtin_sqrtf(v); });
    case UnaryOp::square:
      return map(y, x, n, [](float v) { return v * v; });
    case UnaryOp::abs:
      return map(y, x, n, [](float v) { return __builtin_fabsf(v); });
    case UnaryOp::power:
      return void(with_power(alpha, [=](auto f) { map(y, x, n, f); }));
    case UnaryOp::softplus:
      return map(y, x, n, [](float v) { return softplus_of(v); });
    case UnaryOp::clamp:
      return map(y, x, n, [=](float v) { return v < alpha ? alpha : (v > beta ? beta : v); });
    case UnaryOp::clipped_relu:
      return map(y, x, n, [=](float v) { return v <= 0 ? 0.0f : (v > alpha ? alpha : v); });
    default:
      return;
  }
}

bool has_unary_backward(UnaryOp op, float alpha) {
  return op == UnaryOp::power ? is_power(alpha - 1) : has_unary(op, alpha);
}

void unary_backward(UnaryOp op, float* gx, const float* gy, const float* x, const float* y, std::int64_t n,
                    float alpha, float beta) {
  switch (op) {
    case UnaryOp::affine:
      return map(gx, gy, n, [=](float g) { return g * alpha; });
    case UnaryOp::relu:
      return map2(gx, gy, y, n, [](float g, float at) { return g * (at > 0 ? 1.0f : 0.0f); });
    case UnaryOp::leaky_relu:
      return map2(gx, gy, x, n, [=](float g, float at) { return g * (at > 0 ? 1.0f : alpha); });
    case UnaryOp::elu:
      return map2(gx, gy, x, n, [=](float g, float at) { return g * (at > 0 ? 1.0f : alpha * exp_of(at)); });
    case UnaryOp::gelu:
      return map2(gx, gy, x, n, [](float g, float at) {
        const NormalCdf cdf = normal_cdf(at);
        return g * (cdf.value + at * cdf.density);
      });
    case UnaryOp::silu:
      return map2(gx, gy, x, n, [](float g, float at) {
        const float s = logistic(at);
        return g * (s * (1 + at * (1 - s)));
      });
    case UnaryOp::sigmoid:
      return map2(gx, gy, y, n, [](float g, float at) { return g * (at * (1 - at)); });
    case UnaryOp::tanh:
      return map2(gx, gy, y, n, [](float g, float at) { return g * (1 - at * at); });
    case UnaryOp::exp:
      return map2(gx, gy, y, n, [](float g, float at) { return g * at; });
    case UnaryOp::log:
      return map2(gx, gy, x, n, [](float g, float at) { return g / at; });
    case UnaryOp::power:
      return void(with_power(alpha - 1, [=](auto f) {
        map2(gx, gy, x, n, [=](float g, float at) { return g * (alpha * f(at)); });
      }));
    case UnaryOp::softplus:
      return map2(gx, gy, x, n, [](float g, float at) { return g * logistic(at); });
    case UnaryOp::sqrt:
      return map2(gx, gy, y, n, [](float g, float at) { return g * (0.5f / at); });
    case UnaryOp::square:
      return map2(gx, gy, x, n, [](float g, float at) { return g * (2 * at); });
    case UnaryOp::abs:
      return map2(gx, gy, x, n,
                  [](float g, float at) { return g * (at > 0 ? 1.0f : (at < 0 ? -1.0f : 0.0f)); });
    case UnaryOp::clamp:
      return map2(gx, gy, x, n,
                  [=](float g, float at) { return g * (at < alpha || at > beta ? 0.0f : 1.0f); });
    case UnaryOp::clipped_relu:
      return map2(gx, gy, y, n, [=](float g, float at) { return g * (at > 0 && at < alpha ? 1.0f : 0.0f); });
    default:
      return;
  }
}

// Calls `run(f)` with the function of `op`.
template <class Run>
inline void with_binary(BinaryOp op, Run run) {
  switch (op) {
    case BinaryOp::add:
      return run([](float a, float b) { return a + b; });
    case BinaryOp::subtract:
      return run([](float a, float b) { return a - b; });
    case BinaryOp::multiply:
      return run([](float a, float b) { return a * b; });
    case BinaryOp::divide:
      return run([](float a, float b) { return a / b; });
    case BinaryOp::maximum:
      return run([](float a, float b) { return a > b || a != a ? a : b; });
    case BinaryOp::minimum:
      return run([](float a, float b) { return a < b || a != a ? a : b; });
    case BinaryOp::equal:
      return run([](float a, float b) { return a == b ? 1.0f : 0.0f; });
    case BinaryOp::greater:
      return run([](float a, float b) { return a > b ? 1.0f : 0.0f; });
    case BinaryOp::add_relu:
      return run([](float a, float b) { return a + b <= 0 ? 0.0f : a + b; });
  }
}

void binary(BinaryOp op, float* out, const float* a, const float* b, std::int64_t n) {
  with_binary(op, [=](auto f) { map2(out, a, b, n, f); });
}

void binary_scalar(BinaryOp op, float* out, const float* a, float b, std::int64_t n) {
  with_binary(op, [=](auto f) { map(out, a, n, [=](float v) { return f(v, b); }); });
}

void accumulate(float* x, const float* y, float alpha, std::int64_t n) {
  RONDE_INDEPENDENT_STEPS
  for (std::int64_t i = 0; i < n; ++i) x[i] += alpha * y[i];
}

void bias_epilogue(float* y, const float* bias, std::int64_t rows, std::int64_t c, std::int64_t stride,
                   Epilogue epilogue) {
  for (std::int64_t r = 0; r < rows; ++r, y += stride) {
    if (bias) map2(y, y, bias, c, [](float a, float b) { return a + b; });
    if (epilogue == Epilogue::relu) unary(UnaryOp::relu, y, y, c, 0, 0);
  }
}

}  // namespace
}  // namespace ronde::inline v0
