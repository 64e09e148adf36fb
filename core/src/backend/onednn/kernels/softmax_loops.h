/// Softmax of rows: e^(x - largest), which nothing overflows, over their sum.
#pragma once

#include "backend/onednn/kernels/elementwise_loops.h"
#include "backend/onednn/kernels/reduction_loops.h"

namespace ronde::inline v0 {
namespace {

template <int by, int... lane>
inline Vector larger_of_neighbours(Vector v, LaneList<lane...>) {
  const Vector other = __builtin_shufflevector(v, v, (lane ^ by)...);
  return select(other > v, other, v);
}
template <int by>
inline Vector largest_in_all_lanes(Vector v) {
  v = larger_of_neighbours<by>(v, LanesTo<kLanes>::List());
  if constexpr (by > 1)
    return largest_in_all_lanes<by / 2>(v);
  else
    return v;
}

// Of at least one value; where there is a NaN, perhaps that.
inline float largest_of(const float* x, std::int64_t n) {
  if (n < kLanes) {
    float largest = x[0];
    for (std::int64_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
  }
  Vector most = load(x);
  cover(n, [&](std::int64_t i) { most = select(load(x + i) > most, load(x + i), most); });
  return largest_in_all_lanes<kLanes / 2>(most)[0];
}

// Exponentials are made of all values in one loop: rows may be short.
void softmax(float* y, ExponentialSum* sums, const float* x, std::int64_t rows, std::int64_t n) {
  double totals[kSoftmaxRows];
  for (std::int64_t r = 0; r < rows; ++r) {
    const float largest = sums[r].largest = largest_of(x + r * n, n);
    map(y + r * n, x + r * n, n, [=](float v) { return v - largest; });
  }
  map(y, y, rows * n, [](float v) { return exp_of_negative(v); });
  sum_rows(totals, y, rows, n);
  for (std::int64_t r = 0; r < rows; ++r) {
    sums[r].total = totals[r];
    const float scale = static_cast<float>(1 / totals[r]);
    map(y + r * n, y + r * n, n, [=](float e) { return e * scale; });
  }
}

void softmax_backward(float* grad_x, const float* g, const float* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r, grad_x += n, g += n, y += n) {
    const float product = static_cast<float>(blocked_sum(
        n, [=](std::int64_t i) { return load(g + i) * load(y + i); },
        [=](std::int64_t i) { return g[i] * y[i]; }));
    map2(grad_x, g, y, n, [=](float grad, float p) { return p * (grad - product); });
  }
}

}  // namespace
}  // namespace ronde::inline v0
