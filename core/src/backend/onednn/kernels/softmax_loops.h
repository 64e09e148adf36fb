/// Softmax of a row: e^(x - largest), which nothing overflows, over their sum.
#pragma once

#include "backend/onednn/kernels/elementwise_loops.h"
#include "backend/onednn/kernels/reduction_loops.h"

namespace ronde::inline v0 {
namespace {

// Of at least one value. What a NaN is compared with stays.
inline float largest_of(const float* x, std::int64_t n) {
  float largest = x[0];
  if (n >= kLanes) {
    Vector most = load(x);
    cover(n, [&](std::int64_t i) { most = select(load(x + i) > most, load(x + i), most); });
    for (int lane = 0; lane < kLanes; ++lane) largest = most[lane] > largest ? most[lane] : largest;
    return largest;
  }
  for (std::int64_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

ExponentialSum softmax(float* y, const float* x, std::int64_t n) {
  ExponentialSum s{largest_of(x, n), 0};
  const float largest = s.largest;
  constexpr std::int64_t kPart = 1024;  // is added up while it lies in the first level cache
  for (std::int64_t i = 0; i < n; i += kPart) {
    const std::int64_t count = i + kPart < n ? kPart : n - i;
    map(y + i, x + i, count, [=](float v) { return exp_of_negative(v - largest); });
    s.total += sum(y + i, count);
  }
  const float scale = static_cast<float>(1 / s.total);
  map(y, y, n, [=](float e) { return e * scale; });
  return s;
}

void softmax_backward(float* grad_x, const float* g, const float* y, std::int64_t n) {
  const float product = static_cast<float>(blocked_sum(
      n, [=](std::int64_t i) { return load(g + i) * load(y + i); },
      [=](std::int64_t i) { return g[i] * y[i]; }));
  map2(grad_x, g, y, n, [=](float grad, float p) { return p * (grad - product); });
}

}  // namespace
}  // namespace ronde::inline v0
