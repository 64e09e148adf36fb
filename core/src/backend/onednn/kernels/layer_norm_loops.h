/// Layer normalisation of rows. Sums of a row are floats within a short block and doubles across blocks.
#pragma once

#include "backend/onednn/kernels/reduction_loops.h"

namespace ronde::inline v0 {
namespace {

inline float inverse_deviation(double variance, float epsilon) {
  return static_cast<float>(1 / __builtin_sqrt(variance + static_cast<double>(epsilon)));
}

void layer_norm(float* out, float* mean, float* variance, const float* x, const RowNorm& norm,
                std::int64_t rows, std::int64_t k) {
  const auto [gamma, beta, epsilon] = norm;
  const auto count = static_cast<double>(k);
  for (std::int64_t r = 0; r < rows; ++r, out += k, x += k) {
    const float center = static_cast<float>(sum(x, k) / count);
    const auto squared = [=](auto value) { return (value - center) * (value - center); };
    const double spread = blocked_sum(
                              k, [=](std::int64_t i) { return squared(load(x + i)); },
                              [=](std::int64_t i) { return squared(x[i]); }) /
                          count;
    mean[r] = center;
    variance[r] = static_cast<float>(spread);
    const float inverse = inverse_deviation(spread, epsilon);
    RONDE_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < k; ++i) out[i] = (x[i] - center) * inverse * gamma[i] + beta[i];
  }
}

// Of one row: sums of its gradient times gamma, d, and of d times the normalised x; what the row adds to the
// gradients of gamma and beta.
struct RowSums {
  double d = 0, product = 0;
};
inline RowSums add_row(float* grad_gamma, float* grad_beta, const float* g, const float* x,
                       const float* gamma, float center, float inverse, std::int64_t k) {
  RowSums sums;
  constexpr std::int64_t kBlock = kBlockRows * kLanes;
  std::int64_t i = 0;
  while (i + kLanes <= k) {
    Vector d_sum{}, product_sum{};
    const std::int64_t end = i + kBlock < k ? i + kBlock : k;
    for (; i + kLanes <= end; i += kLanes) {
      const Vector grad = load(g + i), normalised = (load(x + i) - center) * inverse;
      const Vector d = grad * load(gamma + i);
      d_sum += d;
      product_sum += d * normalised;
      store(grad_gamma + i, load(grad_gamma + i) + grad * normalised);
      store(grad_beta + i, load(grad_beta + i) + grad);
    }
    sums.d += precise_sum_of_lanes(d_sum);
    sums.product += precise_sum_of_lanes(product_sum);
  }
  for (; i < k; ++i) {
    const float normalised = (x[i] - center) * inverse, d = g[i] * gamma[i];
    sums.d += static_cast<double>(d);
    sums.product += static_cast<double>(d * normalised);
    grad_gamma[i] += g[i] * normalised;
    grad_beta[i] += g[i];
  }
  return sums;
}

void layer_norm_backward(const RowNormGradients& to, const float* g, const float* x, const float* mean,
                         const float* variance, const RowNorm& norm, std::int64_t rows, std::int64_t k) {
  const float* gamma = norm.gamma;
  float* grad_x = to.x;
  for (std::int64_t r = 0; r < rows; ++r, grad_x += k, g += k, x += k) {
    const float center = mean[r];
    const float inverse = inverse_deviation(static_cast<double>(variance[r]), norm.epsilon);
    const RowSums sums = add_row(to.gamma, to.beta, g, x, gamma, center, inverse, k);
    const float mean_d = static_cast<float>(sums.d / static_cast<double>(k));
    const float slope = static_cast<float>(sums.product / static_cast<double>(k));
    RONDE_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < k; ++i)
      grad_x[i] = inverse * (g[i] * gamma[i] - mean_d - (x[i] - center) * inverse * slope);
  }
}

}  // namespace
}  // namespace ronde::inline v0
