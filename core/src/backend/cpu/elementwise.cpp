#include <algorithm>
#include <cmath>
#include <numbers>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/strided.h"

namespace ronde::inline v0 {

namespace {

template <class T>
T logistic(T x) {
  // Both branches keep exp from overflowing.
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const T e = std::exp(x);
  return e / (1 + e);
}

// Phi, the standard normal distribution function.
template <class T>
T normal_cdf(T x) {
  return T(0.5) * std::erfc(-x * T(std::numbers::sqrt2 / 2));
}

template <class T>
T normal_density(T x) {
  constexpr double kScale = std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;  // 1 / sqrt(2 pi)
  return T(kScale) * std::exp(T(-0.5) * x * x);
}

// Calls `visit(f)` with the function y = f(x) of `op`. Comparisons are written so that a NaN stays a NaN.
template <class T, class Visit>
void with_function(UnaryOp op, UnaryParams params, Visit&& visit) {
  const T alpha = static_cast<T>(params.alpha), beta = static_cast<T>(params.beta);
  switch (op) {
    case UnaryOp::affine:
      return visit([=](T x) { return alpha * x + beta; });
    case UnaryOp::relu:
      return visit([](T x) { return x <= 0 ? T(0) : x; });
    case UnaryOp::leaky_relu:
      return visit([=](T x) { return x <= 0 ? alpha * x : x; });
    case UnaryOp::elu:
      return visit([=](T x) { return x <= 0 ? alpha * std::expm1(x) : x; });
    case UnaryOp::gelu:
      return visit([](T x) { return x * normal_cdf(x); });
    case UnaryOp::silu:
      return visit([](T x) { return x * logistic(x); });
    case UnaryOp::sigmoid:
      return visit([](T x) { return logistic(x); });
    case UnaryOp::tanh:
      return visit([](T x) { return std::tanh(x); });
    case UnaryOp::exp:
      return visit([](T x) { return std::exp(x); });
    case UnaryOp::log:
      return visit([](T x) { return std::log(x); });
    case UnaryOp::sqrt:
      return visit([](T x) { return std::sqrt(x); });
    case UnaryOp::square:
      return visit([](T x) { return x * x; });
    case UnaryOp::abs:
      return visit([](T x) { return std::abs(x); });
    case UnaryOp::power:
      return visit([=](T x) { return std::pow(x, alpha); });
    case UnaryOp::clamp:
      return visit([=](T x) { return x < alpha ? alpha : (x > beta ? beta : x); });
    case UnaryOp::clipped_relu:
      return visit([=](T x) { return x <= 0 ? T(0) : (x > alpha ? alpha : x); });
    case UnaryOp::softplus:
      return visit([](T x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); });
    case UnaryOp::sin:
      return visit([](T x) { return std::sin(x); });
    case UnaryOp::cos:
      return visit([](T x) { return std::cos(x); });
  }
}

// Calls `visit(f)` with the derivative f(x, y) of `op` at x, where y = op(x). Where it does not exist: that
// of the left side for the relu family, 0 for abs, and 1 at the limits of clamp.
template <class T, class Visit>
void with_derivative(UnaryOp op, UnaryParams params, Visit&& visit) {
  const T alpha = static_cast<T>(params.alpha), beta = static_cast<T>(params.beta);
  switch (op) {
    case UnaryOp::affine:
      return visit([=](T, T) { return alpha; });
    case UnaryOp::relu:
      return visit([](T, T y) { return y > 0 ? T(1) : T(0); });
    case UnaryOp::leaky_relu:
      return visit([=](T x, T) { return x > 0 ? T(1) : alpha; });
    case UnaryOp::elu:
      return visit([=](T x, T) { return x > 0 ? T(1) : alpha * std::exp(x); });
    case UnaryOp::gelu:
      return visit([](T x, T) { return normal_cdf(x) + x * normal_density(x); });
    case UnaryOp::silu:
      return visit([](T x, T) {
        const T s = logistic(x);
        return s * (1 + x * (1 - s));
      });
    case UnaryOp::sigmoid:
      return visit([](T, T y) { return y * (1 - y); });
    case UnaryOp::tanh:
      return visit([](T, T y) { return 1 - y * y; });
    case UnaryOp::exp:
      return visit([](T, T y) { return y; });
    case UnaryOp::log:
      return visit([](T x, T) { return 1 / x; });
    case UnaryOp::sqrt:
      return visit([](T, T y) { return T(0.5) / y; });
    case UnaryOp::square:
      return visit([](T x, T) { return 2 * x; });
    case UnaryOp::abs:
      return visit([](T x, T) { return x > 0 ? T(1) : (x < 0 ? T(-1) : T(0)); });
    case UnaryOp::power:
      return visit([=](T x, T) { return alpha == 0 ? T(0) : alpha * std::pow(x, alpha - 1); });
    case UnaryOp::clamp:
      return visit([=](T x, T) { return x < alpha || x > beta ? T(0) : T(1); });
    case UnaryOp::clipped_relu:
      return visit([=](T, T y) { return y > 0 && y < alpha ? T(1) : T(0); });
    case UnaryOp::softplus:
      return visit([](T x, T) { return logistic(x); });
    case UnaryOp::sin:
      return visit([](T x, T) { return std::cos(x); });
    case UnaryOp::cos:
      return visit([](T x, T) { return -std::sin(x); });
  }
}

template <class T, class Visit>
void with_function(BinaryOp op, Visit&& visit) {
  switch (op) {
    case BinaryOp::add:
      return visit([](T a, T b) { return a + b; });
    case BinaryOp::subtract:
      return visit([](T a, T b) { return a - b; });
    case BinaryOp::multiply:
      return visit([](T a, T b) { return a * b; });
    case BinaryOp::divide:
      return visit([](T a, T b) { return a / b; });
    case BinaryOp::maximum:
      return visit([](T a, T b) { return a > b || a != a ? a : b; });
    case BinaryOp::minimum:
      return visit([](T a, T b) { return a < b || a != a ? a : b; });
    case BinaryOp::equal:
      return visit([](T a, T b) { return a == b ? T(1) : T(0); });
    case BinaryOp::greater:
      return visit([](T a, T b) { return a > b ? T(1) : T(0); });
    case BinaryOp::add_relu:
      return visit([](T a, T b) { return a + b <= 0 ? T(0) : a + b; });
  }
}

}  // namespace

void CpuBackend::unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) {
  visit_real(out.dtype(), "unary", [&]<class T>(T) {
    with_function<T>(op, params, [&](auto f) {
      for_each_element(
          threads_, out.shape(), [f](T& y, T value) { y = f(value); }, view<T>(out), view<T>(x));
    });
  });
}

void CpuBackend::unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                                const Tensor& y, UnaryParams params) {
  // What a derivative does not read may be missing: any tensor stands in for it and is not looked at.
  const Tensor& some_x = x.defined() ? x : grad_y;
  const Tensor& some_y = y.defined() ? y : grad_y;
  visit_real(grad_x.dtype(), "unary_backward", [&]<class T>(T) {
    with_derivative<T>(op, params, [&](auto derivative) {
      for_each_element(
          threads_, grad_x.shape(),
          [derivative](T& gx, T gy, T at_x, T at_y) { gx = gy * derivative(at_x, at_y); }, view<T>(grad_x),
          view<T>(grad_y), view<T>(some_x), view<T>(some_y));
    });
  });
}

void CpuBackend::binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  visit_real(out.dtype(), "binary", [&]<class T>(T) {
    with_function<T>(op, [&](auto f) {
      for_each_element(
          threads_, out.shape(), [f](T& y, T p, T q) { y = f(p, q); }, view<T>(out), view<T>(a), view<T>(b));
    });
  });
}

void CpuBackend::accumulate(const Tensor& x, const Tensor& y, double alpha) {
  visit_real(x.dtype(), "accumulate", [&]<class T>(T) {
    const T scale = static_cast<T>(alpha);
    const auto add = [&]<class Y>(Y) {
      for_each_element(
          threads_, x.shape(), [scale](T& sum, Y value) { sum += scale * static_cast<T>(value); }, view<T>(x),
          view<Y>(y));
    };
    y.dtype() == DType::f32 ? add(float{}) : add(T{});
  });
}

}  // namespace ronde::inline v0
