/// Softmax of rows: e^(x - largest), which nothing overflows, over their sum.
#pragma once

#include "backend/onednn/kernels/elementwise_loops.h"
#include "backend/onednn/kernels/largest.h"
#include "backend/onednn/kernels/reduction_loops.h"

namespace ronde::inline v0 {
namespace {

// Exponentials are made of all values in one loop: rows may be short.
void softmax(float* y, ExponentialSum* sums, const float* x, std::int64_t rows, std::int64_t n) {
  double totals[kSoftmaxRows];
  for (std::int64_t r = 0; r < rows; ++r) {
    const float most = sums[r].largest = largest(x + r * n, n, 1);
    map(y + r * n, x + r * n, n, [=](float v) { return v - most; });
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
