/// Winograd's filters: from the layout of the weights to the one in which the products read them.
#pragma once

#include "backend/onednn/kernels/transpose.h"
#include "backend/onednn/kernels/winograd_products.h"
#include "backend/onednn/kernels/winograd_transforms.h"

namespace ronde::inline v0 {
namespace {

// The 3x3 cells of kLanes rows and kLanes columns, a vector of columns each.
struct FilterSquare {
  Vector cells[9][kLanes];

  // From (column, row) on of weights (columns, 3, 3, pitch): whole squares are transposed in registers.
  [[gnu::noinline]] void read(const float* weight, std::int64_t pitch, std::int64_t column, std::int64_t row,
                              std::int64_t rows) {
    for (int cell = 0; cell < 9; ++cell) {
      const float* from = weight + (column * 9 + cell) * pitch + row;
      Vector(&square)[kLanes] = cells[cell];
      if (rows == kLanes) {
        Vector lines[kLanes];
#pragma GCC unroll 16
        for (int c = 0; c < kLanes; ++c) lines[c] = load(from + c * 9 * pitch);
        transpose(lines);
#pragma GCC unroll 16
        for (int r = 0; r < kLanes; ++r) square[r] = lines[r];
      } else {
        for (std::int64_t r = 0; r < rows; ++r)
          for (int c = 0; c < kLanes; ++c) square[r][c] = from[c * 9 * pitch + r];
      }
    }
  }

  // A whole square to there; afterwards its rows are columns.
  [[gnu::noinline]] void write(float* weight, std::int64_t pitch, std::int64_t column, std::int64_t row) {
    for (int cell = 0; cell < 9; ++cell) {
      float* to = weight + (column * 9 + cell) * pitch + row;
      transpose(cells[cell]);
#pragma GCC unroll 16
      for (int c = 0; c < kLanes; ++c) store(to + c * 9 * pitch, cells[cell][c]);
    }
  }
};

// Cells lie `step` elements apart.
template <int m>
[[gnu::noinline]] inline void store_filters(float* to, std::int64_t point, const float* from,
                                            std::int64_t step) {
  transform_tile<FilterTransform<m>>(
      [&](int i, int j) { return load(from + (i * 3 + j) * step); },
      [&](int i, int j, Vector x) { store(to + (i * (m + 2) + j) * point, x); });
}

// The gradient of a filter, of sums `point` elements apart.
template <int m>
[[gnu::noinline]] inline void store_filter_gradient(float* to, std::int64_t step, const float* sums,
                                                    std::int64_t point) {
  transform_tile<FilterGradientTransform<m>>(
      [&](int i, int j) { return load(sums + (i * (m + 2) + j) * point); },
      [&](int i, int j, Vector v) { store(to + (i * 3 + j) * step, v); });
}

// Up to kLanes rows of kLanes columns, from (row, column) on; `to` is the place of the first of them in u,
// `next` elements from one row to the next.
template <int m>
inline void store_filter_rows(float* to, std::int64_t next, std::int64_t point, const float* weight,
                              const WinogradFilters& s, std::int64_t row, std::int64_t rows,
                              std::int64_t column) {
  if (!s.by_column) {
    for (std::int64_t r = 0; r < rows; ++r)
      store_filters<m>(to + r * next, point, weight + (row + r) * 9 * s.pitch + column, s.pitch);
    return;
  }
  FilterSquare square;
  square.read(weight, s.pitch, column, row, rows);
  const float* from = reinterpret_cast<const float*>(square.cells);
  for (std::int64_t r = 0; r < rows; ++r)
    store_filters<m>(to + r * next, point, from + r * kLanes, kLanes * kLanes);
}

// Note [Packed filters] in winograd_products.h
void winograd_filters(float* u, const float* weight, const WinogradFilters& s, std::int64_t begin,
                      std::int64_t end) {
  const std::int64_t point = winograd_filter_point(s.depth, s.columns, kLanes);
  with_tile(s.tile, [&]<int m>() {
    for_columns(s.columns, [&]<int vectors>(std::int64_t column, std::int64_t place) {
      for (std::int64_t row = begin; row < end; row += kLanes) {
        const std::int64_t rows = end - row < kLanes ? end - row : kLanes;
        float* to = u + place * s.depth + row * vectors * kLanes;
        for (int v = 0; v < vectors; ++v)
          store_filter_rows<m>(to + v * kLanes, vectors * kLanes, point, weight, s, row, rows,
                               column + v * kLanes);
      }
    });
  });
}

}  // namespace
}  // namespace ronde::inline v0
