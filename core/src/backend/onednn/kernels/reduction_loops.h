/// Sums: floats within a short block, doubles across blocks, so that the error does not grow with the length.
#pragma once

#include "backend/onednn/kernels/column_sums.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/lane_sums.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// Sum of term(i) over [0, n) as kLanes running sums; `vector(i)` gives kLanes terms, `one(i)` a single one.
template <class VectorTerm, class Term>
inline double blocked_sum(std::int64_t n, VectorTerm vector, Term one) {
  double total = 0;
  std::int64_t i = 0;
  while (i + 4 * kLanes <= n) {
    Vector a{}, b{}, c{}, d{};
    for (std::int64_t step = 0; step < kBlockRows && i + 4 * kLanes <= n; ++step, i += 4 * kLanes) {
      a += vector(i);
      b += vector(i + kLanes);
      c += vector(i + 2 * kLanes);
      d += vector(i + 3 * kLanes);
    }
    total += precise_sum_of_lanes((a + b) + (c + d));
  }
  if (i + kLanes <= n) {
    Vector rest = vector(i);
    for (i += kLanes; i + kLanes <= n; i += kLanes) rest += vector(i);
    total += precise_sum_of_lanes(rest);
  }
  for (; i < n; ++i) total += static_cast<double>(one(i));
  return total;
}

double sum(const float* x, std::int64_t n) {
  return blocked_sum(
      n, [=](std::int64_t i) { return load(x + i); }, [=](std::int64_t i) { return x[i]; });
}

double sum_of_squares(const float* x, std::int64_t n) {
  return blocked_sum(
      n, [=](std::int64_t i) { return load(x + i) * load(x + i); },
      [=](std::int64_t i) { return x[i] * x[i]; });
}

// Of several short rows at once, as an addition waits for the one before it.
template <int rows>
inline void sum_short_rows(double* sums, const float* x, std::int64_t k) {
  double totals[rows] = {};
  for (std::int64_t i = 0; i < k; ++i)
    for (int r = 0; r < rows; ++r) totals[r] += static_cast<double>(x[r * k + i]);
  for (int r = 0; r < rows; ++r) sums[r] = totals[r];
}

void sum_rows(double* sums, const float* x, std::int64_t rows, std::int64_t k) {
  constexpr int kAtOnce = 4;
  std::int64_t r = 0;
  for (; k <= kLanes && r + kAtOnce <= rows; r += kAtOnce) sum_short_rows<kAtOnce>(sums + r, x + r * k, k);
  for (; r < rows; ++r) sums[r] = sum(x + r * k, k);
}

[[gnu::cold]] inline void sum_columns_of_short_rows(double* totals, const float* x, std::int64_t rows,
                                                    std::int64_t c) {
  in_blocks(rows, [=](std::int64_t start, std::int64_t some) {
    for (std::int64_t k = 0; k < c; ++k) {
      float sum = 0;
      for (std::int64_t i = start; i < start + some; ++i) sum += x[i * c + k];
      totals[k] += static_cast<double>(sum);
    }
  });
}

void sum_columns(double* totals, const float* x, std::int64_t rows, std::int64_t c) {
  if (c < kLanes) return sum_columns_of_short_rows(totals, x, rows, c);
  for_column_vectors(rows, c, [=](const ColumnVectors& at) {
    Vector sums[kChains] = {};
    for (std::int64_t i = 0; i < at.rows; ++i)
      for (int k = 0; k < kChains; ++k) sums[k] += load_of_block(x + at.element(i, k), at);
    fold(sums, at.distinct);
    for (int k = 0; k < at.distinct; ++k) add_lanes(totals + at.column(k), sums[k], at.lanes(k));
  });
}

}  // namespace
}  // namespace ronde::inline v0
