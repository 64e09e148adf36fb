/// Sums: floats within a short block, doubles across blocks, so that the error does not grow with the length.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kBlockRows = 64;

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
    const Vector s = (a + b) + (c + d);
    for (int lane = 0; lane < kLanes; ++lane) total += static_cast<double>(s[lane]);
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

// totals[column] += sum over rows of the terms; `vector(row * c + column, column)` gives kLanes of them.
template <class VectorTerm, class Term>
inline void blocked_column_sums(double* totals, std::int64_t rows, std::int64_t c, VectorTerm vector,
                                Term one) {
  for (std::int64_t start = 0; start < rows; start += kBlockRows) {
    const std::int64_t end = start + kBlockRows < rows ? start + kBlockRows : rows;
    std::int64_t column = 0;
    for (; column + kLanes <= c; column += kLanes) {
      Vector even{}, odd{};
      std::int64_t row = start;
      for (; row + 1 < end; row += 2) {
        even += vector(row * c + column, column);
        odd += vector((row + 1) * c + column, column);
      }
      if (row < end) even += vector(row * c + column, column);
      even += odd;
      for (int lane = 0; lane < kLanes; ++lane) totals[column + lane] += static_cast<double>(even[lane]);
    }
    for (; column < c; ++column) {
      float s = 0;
      for (std::int64_t row = start; row < end; ++row) s += one(row * c + column, column);
      totals[column] += static_cast<double>(s);
    }
  }
}

void sum_columns(double* totals, const float* x, std::int64_t rows, std::int64_t c) {
  blocked_column_sums(
      totals, rows, c, [=](std::int64_t i, std::int64_t) { return load(x + i); },
      [=](std::int64_t i, std::int64_t) { return x[i]; });
}

void sum_squared_distances(double* totals, const float* x, const float* center, std::int64_t rows,
                           std::int64_t c) {
  blocked_column_sums(
      totals, rows, c,
      [=](std::int64_t i, std::int64_t column) {
        const Vector d = load(x + i) - load(center + column);
        return d * d;
      },
      [=](std::int64_t i, std::int64_t column) {
        const float d = x[i] - center[column];
        return d * d;
      });
}

void sum_products(double* totals, const float* g, const float* x, const float* center, std::int64_t rows,
                  std::int64_t c) {
  blocked_column_sums(
      totals, rows, c,
      [=](std::int64_t i, std::int64_t column) {
        return load(g + i) * (load(x + i) - load(center + column));
      },
      [=](std::int64_t i, std::int64_t column) { return g[i] * (x[i] - center[column]); });
}

void scale_columns(float* out, const float* x, const float* center, const float* scale, const float* shift,
                   std::int64_t rows, std::int64_t c) {
  for (std::int64_t r = 0; r < rows; ++r, out += c, x += c) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < c; ++i) out[i] = (x[i] - center[i]) * scale[i] + shift[i];
  }
}

void batch_norm_backward(float* grad_x, const float* g, const float* x, const float* center,
                         const float* scale, const float* mean_g, const float* slope, std::int64_t rows,
                         std::int64_t c) {
  for (std::int64_t r = 0; r < rows; ++r, grad_x += c, g += c, x += c) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < c; ++i)
      grad_x[i] = scale[i] * (g[i] - mean_g[i] - (x[i] - center[i]) * slope[i]);
  }
}

}  // namespace
}  // namespace ronde::inline v0
