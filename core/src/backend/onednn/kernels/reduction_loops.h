/// Sums: floats within a short block, doubles across blocks, so that the error does not grow with the length.
#pragma once

#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kBlockRows = 64;
constexpr int kChains = 4;  // of additions: each one waits for the one before it

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

// A vector of a column; the rows of a block lie far apart, where no hardware expects them, so the one in the
// next block is asked for.
inline Vector load_of_block(const float* p, std::int64_t c) {
  __builtin_prefetch(p + kBlockRows * c, 0, kSecondLevel);
  return load(p);
}

// In halves, as many doubles as a register holds: a loop over lanes becomes sixteen extractions.
inline void add_lanes(double* totals, Vector sums, IntVector fresh) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  typedef double Doubles __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
  Half halves[2];
  sums = masked(fresh, sums);
  __builtin_memcpy(halves, &sums, sizeof sums);
  for (int i = 0; i < 2; ++i)
    *reinterpret_cast<Doubles*>(totals + i * kLanes / 2) += __builtin_convertvector(halves[i], Doubles);
}

// totals[column] += sum over rows of the terms; `vector(row * c + column, column)` gives kLanes of them.
template <class VectorTerm, class Term>
inline void blocked_column_sums(double* totals, std::int64_t rows, std::int64_t c, VectorTerm vector,
                                Term one) {
  for (std::int64_t start = 0; start < rows; start += kBlockRows) {
    const std::int64_t end = start + kBlockRows < rows ? start + kBlockRows : rows;
    if (c < kLanes) {
      for (std::int64_t column = 0; column < c; ++column) {
        float s = 0;
        for (std::int64_t i = start * c + column; i < end * c; i += c) s += one(i, column);
        totals[column] += static_cast<double>(s);
      }
      continue;
    }
    cover_once(c, [&](std::int64_t column, IntVector fresh) {
      Vector sums[kChains] = {};
      std::int64_t i = start * c + column;
      for (; i + (kChains - 1) * c < end * c; i += kChains * c)
        for (int k = 0; k < kChains; ++k) sums[k] += vector(i + k * c, column);
      for (; i < end * c; i += c) sums[0] += vector(i, column);
      add_lanes(totals + column, (sums[0] + sums[1]) + (sums[2] + sums[3]), fresh);
    });
  }
}

void sum_columns(double* totals, const float* x, std::int64_t rows, std::int64_t c) {
  blocked_column_sums(
      totals, rows, c, [=](std::int64_t i, std::int64_t) { return load_of_block(x + i, c); },
      [=](std::int64_t i, std::int64_t) { return x[i]; });
}

void sum_squared_distances(double* totals, const float* x, const float* center, std::int64_t rows,
                           std::int64_t c) {
  blocked_column_sums(
      totals, rows, c,
      [=](std::int64_t i, std::int64_t column) {
        const Vector d = load_of_block(x + i, c) - load(center + column);
        return d * d;
      },
      [=](std::int64_t i, std::int64_t column) {
        const float d = x[i] - center[column];
        return d * d;
      });
}

// A gradient as it is, and one behind a relu: a vector from element i on, or that element, where x
// lies `distance` from the center of its column.
struct PlainGradient {
  const float* g;

  explicit PlainGradient(const float* grad, const ColumnMap&) : g(grad) {}
  auto of_columns(std::int64_t, std::int64_t c) const {
    return [g = g, c](std::int64_t i, Vector) { return load_of_block(g + i, c); };
  }
  float one(std::int64_t i, std::int64_t, float) const { return g[i]; }
};
struct ReluGradient {
  const float *g, *scale, *shift;
  float highest;

  explicit ReluGradient(const float* grad, const ColumnMap& map)
      : g(grad), scale(map.scale), shift(map.shift), highest(map.highest) {}
  auto of_columns(std::int64_t column, std::int64_t c) const {
    return [g = g, c, scale = load(scale + column), shift = load(shift + column), highest = splat(highest)](
               std::int64_t i, Vector distance) {
      const Vector y = distance * scale + shift;
      return load_of_block(g + i, c) * masked((y > Vector{}) & (y < highest), splat(1));
    };
  }
  float one(std::int64_t i, std::int64_t column, float distance) const {
    const float y = distance * scale[column] + shift[column];
    return g[i] * (y > 0 && y < highest ? 1.0f : 0.0f);
  }
};

// Calls f with one of both.
template <class F>
inline void with_gradient(const float* g, const ColumnMap& map, const F& f) {
  if (map.has_relu)
    f(ReluGradient(g, map));
  else
    f(PlainGradient(g, map));
}

// Of the rows from `start` to `end`.
template <class Gradient>
inline void add_gradients(double* sums, double* products, const Gradient& gradient, const float* x,
                          const float* center, std::int64_t start, std::int64_t end, std::int64_t c) {
  if (c < kLanes) {
    for (std::int64_t column = 0; column < c; ++column) {
      float sum = 0, product = 0;
      for (std::int64_t i = start * c + column; i < end * c; i += c) {
        const float distance = x[i] - center[column], at = gradient.one(i, column, distance);
        sum += at;
        product += at * distance;
      }
      sums[column] += static_cast<double>(sum);
      products[column] += static_cast<double>(product);
    }
    return;
  }
  cover_once(c, [&](std::int64_t column, IntVector fresh) {
    Vector sum{}, product{};
    const Vector middle = load(center + column);
    const auto of_columns = gradient.of_columns(column, c);
    for (std::int64_t i = start * c + column; i < end * c; i += c) {
      const Vector distance = load_of_block(x + i, c) - middle, at = of_columns(i, distance);
      sum += at;
      product += at * distance;
    }
    add_lanes(sums + column, sum, fresh);
    add_lanes(products + column, product, fresh);
  });
}

void sum_gradients(double* sums, double* products, const float* g, const float* x, const ColumnMap& map,
                   std::int64_t rows, std::int64_t c) {
  with_gradient(g, map, [=, center = map.center](const auto& gradient) {
    for (std::int64_t start = 0; start < rows; start += kBlockRows)
      add_gradients(sums, products, gradient, x, center, start,
                    start + kBlockRows < rows ? start + kBlockRows : rows, c);
  });
}

// Calls f(first element, how many) for pieces of n elements.
template <class F>
[[gnu::always_inline]] inline void over_pieces(std::int64_t n, std::int64_t piece, const F& f) {
  for (std::int64_t i = 0; i < n; i += piece) f(i, i + piece < n ? piece : n - i);
}

void map_columns(float* out, const float* x, const ColumnMap& map, std::int64_t n, std::int64_t width) {
  over_pieces(n, width, [=, &map](std::int64_t start, std::int64_t count) {
    const auto [center, scale, shift, has_relu, highest] = map;
    const float* from = x + start;
    float* to = out + start;
    fetch_ahead(to, count);
    if (has_relu) {
      RONDE_INDEPENDENT_STEPS
      for (std::int64_t i = 0; i < count; ++i) {
        const float y = (from[i] - center[i]) * scale[i] + shift[i];
        to[i] = y <= 0 ? 0 : (y > highest ? highest : y);
      }
    } else {
      RONDE_INDEPENDENT_STEPS
      for (std::int64_t i = 0; i < count; ++i) to[i] = (from[i] - center[i]) * scale[i] + shift[i];
    }
  });
}

void batch_norm_backward(float* grad_x, const float* g, const float* x, const ColumnMap& map,
                         const float* mean_g, const float* slope, std::int64_t n, std::int64_t width) {
  with_gradient(g, map, [=, center = map.center, scale = map.scale](const auto& gradient) {
    over_pieces(n, width, [=](std::int64_t start, std::int64_t count) {
      fetch_ahead(grad_x + start, count);
      RONDE_INDEPENDENT_STEPS
      for (std::int64_t i = 0; i < count; ++i) {
        const float distance = x[start + i] - center[i];
        grad_x[start + i] =
            scale[i] * (gradient.one(start + i, i, distance) - mean_g[i] - distance * slope[i]);
      }
    });
  });
}

}  // namespace
}  // namespace ronde::inline v0
