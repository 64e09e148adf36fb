/// Batch norms: sums over columns, and what is made of each element by what its column has.
#pragma once

#include "backend/onednn/kernels/column_sums.h"
#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// What a block of n elements of a column adds to the sum of their distances from the origin, and to that of
// the squares of these: of distances in float from a center among them, whose sum is `rest` and whose
// squares' is `squares`, so that no origin is so far off that it costs precision. As doubles, or vectors of
// them.
template <class Numbers>
inline Numbers sum_of_block(double n, Numbers center, Numbers rest) {
  return n * center + rest;
}
template <class Numbers>
inline Numbers squares_of_block(double n, Numbers sum, Numbers rest, Numbers squares) {
  return squares - rest * rest / n + sum * sum / n;
}

// Rows that are shorter than a vector are rare: cold, here and below, so that they are compiled small.
[[gnu::cold]] inline void add_distances_of_column(double& sum, double& squares, const float* x, float origin,
                                                  std::int64_t rows, std::int64_t c) {
  float whole = 0, rest = 0, square = 0;
  for (std::int64_t i = 0; i < rows; ++i) whole += x[i * c];
  const float center = whole / static_cast<float>(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float distance = x[i * c] - center;
    rest += distance;
    square += distance * distance;
  }
  const auto n = static_cast<double>(rows), left = static_cast<double>(rest);
  const double block = sum_of_block(n, static_cast<double>(center) - static_cast<double>(origin), left);
  sum += block;
  squares += squares_of_block(n, block, left, static_cast<double>(square));
}

// Of a vector of columns, of `rows` rows, those lanes that are fresh.
[[gnu::noinline]] inline void add_distances(double* sums, double* all_squares, const float* origin,
                                            Vector center, Vector rest, Vector squares, std::int64_t rows,
                                            IntVector fresh) {
  const auto n = static_cast<double>(rows);
  const Vector kept = masked(fresh, splat(1));
  for (int i = 0; i < 2; ++i) {
    const std::int64_t half = i * kLanes / 2;
    const auto left = half_of(rest, i), keep = half_of(kept, i);
    const auto block = sum_of_block(n, half_of(center, i) - half_of(load(origin), i), left);
    *reinterpret_cast<Doubles*>(sums + half) += keep * block;
    *reinterpret_cast<Doubles*>(all_squares + half) +=
        keep * squares_of_block(n, block, left, half_of(squares, i));
  }
}

void sum_distances(double* sums, double* squares, const float* x, const float* origin, std::int64_t rows,
                   std::int64_t c) {
  if (c < kLanes) {
    in_blocks(rows, [=](std::int64_t start, std::int64_t some) {
      for (std::int64_t k = 0; k < c; ++k)
        add_distances_of_column(sums[k], squares[k], x + start * c + k, origin[k], some, c);
    });
    return;
  }
  // The second time that a row is read it lies in the first level cache.
  for_column_vectors(rows, c, [=](const ColumnVectors& at) {
    Vector center[kChains] = {}, rest[kChains] = {}, square[kChains] = {};
    for (std::int64_t i = 0; i < at.rows; ++i)
      for (int k = 0; k < kChains; ++k) center[k] += load_of_block(x + at.element(i, k), at);
    fold(center, at.distinct);
    for (int k = 0; k < at.distinct; ++k) center[k] /= splat(static_cast<float>(at.rows_of_column()));
    for (int k = at.distinct; k < kChains; ++k) center[k] = center[k & (at.distinct - 1)];
    for (std::int64_t i = 0; i < at.rows; ++i)
      for (int k = 0; k < kChains; ++k) {
        const Vector distance = load(x + at.element(i, k)) - center[k];
        rest[k] += distance;
        square[k] += distance * distance;
      }
    fold(rest, at.distinct);
    fold(square, at.distinct);
    for (int k = 0; k < at.distinct; ++k) {
      const std::int64_t column = at.column(k);
      add_distances(sums + column, squares + column, origin + column, center[k], rest[k], square[k],
                    at.rows_of_column(), at.lanes(k));
    }
  });
}

// The gradient behind the map: the vector from element i on, or that element, where x lies `distance` from
// the center of its column.
struct MapGradient {
  const float* g;
  const ColumnMap& map;

  Vector vector(std::int64_t i, const ColumnVectors& of, Vector distance, Vector scale, Vector shift) const {
    const Vector y = distance * scale + shift;
    const IntVector passes = ~((y <= splat(map.least)) | (y >= splat(map.highest)));
    return load_of_block(g + i, of) * masked(passes, splat(1));
  }
  float one(std::int64_t i, std::int64_t column, float distance) const {
    const float y = distance * map.scale[column] + map.shift[column];
    return g[i] * (y <= map.least || y >= map.highest ? 0.0f : 1.0f);
  }
};

// The gradient where y > 0, which is kept: the next pass reads it.
struct PassedGradient {
  float* passed;
  const float *g, *y;

  Vector vector(std::int64_t i, const ColumnVectors& of, Vector, Vector, Vector) const {
    const Vector at = masked(load_of_block(y + i, of) > Vector{}, load_of_block(g + i, of));
    store(passed + i, at);
    return at;
  }
  float one(std::int64_t i, std::int64_t, float) const { return passed[i] = y[i] > 0 ? g[i] : 0; }
};

// Of rows that are shorter than a vector.
template <class Gradient>
[[gnu::cold]] inline void add_gradients_of_short_rows(double* sums, double* products,
                                                      const Gradient& gradient, const float* x,
                                                      const float* center, std::int64_t rows,
                                                      std::int64_t c) {
  in_blocks(rows, [=, &gradient](std::int64_t start, std::int64_t some) {
    for (std::int64_t column = 0; column < c; ++column) {
      float sum = 0, product = 0;
      for (std::int64_t i = start * c + column; i < (start + some) * c; i += c) {
        const float distance = x[i] - center[column], at = gradient.one(i, column, distance);
        sum += at;
        product += at * distance;
      }
      sums[column] += static_cast<double>(sum);
      products[column] += static_cast<double>(product);
    }
  });
}

template <class Gradient>
inline void add_gradients(double* sums, double* products, const Gradient& gradient, const float* x,
                          const ColumnMap& map, std::int64_t rows, std::int64_t c) {
  if (c < kLanes) return add_gradients_of_short_rows(sums, products, gradient, x, map.center, rows, c);
  for_column_vectors(rows, c, [=, &gradient, &map](const ColumnVectors& of) {
    Vector sum[kChains] = {}, product[kChains] = {}, center[kChains], scale[kChains], shift[kChains];
    for (int k = 0; k < kChains; ++k) {
      const std::int64_t column = of.column(k);
      center[k] = load(map.center + column), scale[k] = load(map.scale + column),
      shift[k] = load(map.shift + column);
    }
    for (std::int64_t row = 0; row < of.rows; ++row)
      for (int k = 0; k < kChains; ++k) {
        const std::int64_t i = of.element(row, k);
        const Vector distance = load_of_block(x + i, of) - center[k],
                     at = gradient.vector(i, of, distance, scale[k], shift[k]);
        sum[k] += at;
        product[k] += at * distance;
      }
    fold(sum, of.distinct);
    fold(product, of.distinct);
    for (int k = 0; k < of.distinct; ++k) {
      add_lanes(sums + of.column(k), sum[k], of.lanes(k));
      add_lanes(products + of.column(k), product[k], of.lanes(k));
    }
  });
}

void sum_gradients(double* sums, double* products, const float* g, const float* x, const ColumnMap& map,
                   std::int64_t rows, std::int64_t c) {
  add_gradients(sums, products, MapGradient{g, map}, x, map, rows, c);
}

void sum_passed_gradients(double* sums, double* products, float* passed, const float* g, const float* y,
                          const float* x, const ColumnMap& map, std::int64_t rows, std::int64_t c) {
  add_gradients(sums, products, PassedGradient{passed, g, y}, x, map, rows, c);
}

// Calls f(first element, how many) for pieces of n elements.
template <class F>
[[gnu::always_inline]] inline void over_pieces(std::int64_t n, std::int64_t piece, const F& f) {
  for (std::int64_t i = 0; i < n; i += piece) f(i, i + piece < n ? piece : n - i);
}

// `added(i, y)`: y and what is added to it for element i.
template <class Added>
[[gnu::always_inline]] inline void map_columns_and(float* out, const float* x, const Added& added,
                                                   const ColumnMap& map, std::int64_t n, std::int64_t width) {
  over_pieces(n, width, [=, &map](std::int64_t start, std::int64_t count) {
    const auto [center, scale, shift, least, highest] = map;
    const float* from = x + start;
    float* to = out + start;
    fetch_ahead(to, count);
    RONDE_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < count; ++i) {
      const float y = added(start + i, (from[i] - center[i]) * scale[i] + shift[i]);
      const float bounded = least > y ? least : y;  // a NaN stays one
      to[i] = highest < bounded ? highest : bounded;
    }
  });
}

void map_columns(float* out, const float* x, const float* addend, const ColumnMap& map, std::int64_t n,
                 std::int64_t width) {
  if (addend)
    map_columns_and(
        out, x, [=](std::int64_t i, float y) { return y + addend[i]; }, map, n, width);
  else
    map_columns_and(
        out, x, [](std::int64_t, float y) { return y; }, map, n, width);
}

void batch_norm_backward(float* grad_x, const float* g, const float* x, const ColumnMap& map,
                         const float* mean_g, const float* slope, std::int64_t n, std::int64_t width) {
  over_pieces(n, width, [=, &map](std::int64_t start, std::int64_t count) {
    const auto [center, scale, shift, least, highest] = map;
    fetch_ahead(grad_x + start, count);
    RONDE_INDEPENDENT_STEPS
    for (std::int64_t i = 0; i < count; ++i) {
      const float distance = x[start + i] - center[i], y = distance * scale[i] + shift[i];
      const float at = g[start + i] * (y <= least || y >= highest ? 0.0f : 1.0f);
      grad_x[start + i] = scale[i] * (at - mean_g[i] - distance * slope[i]);
    }
  });
}

}  // namespace
}  // namespace ronde::inline v0
