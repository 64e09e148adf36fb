/// Products of matrices, for one thread.
///
/// A block of rows x columns of the result stays in registers while kProductDepth values of the inner
/// dimension go by: per value a few loads of b, one broadcast of a per row. A transposed operand is copied
/// first, in pieces that stay in the first level cache; the others are read where they are. An element's sum
/// is added up in an order that depends on its inner dimension alone.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

constexpr int kMatrixVectors = kVectorRegisters >= 32 ? 4 : 2;  // columns / kLanes of a block
constexpr int kMatrixRows = kVectorRegisters * 3 / 4 / kMatrixVectors;
static_assert(kProductStrip % kMatrixRows == 0);
static_assert(kProductColumns >= kMatrixVectors * kLanes);

// a(r, k) is a[r * row + k * step].
struct LeftOperand {
  const float* a;
  std::int64_t row, step;
};

enum class Into { nothing, sum };  // what out holds before

// out (rows, vectors * kLanes) = or += a (rows, depth) * b (depth, ...)
template <int rows, int vectors>
inline void matrix_block(float* out, std::int64_t out_pitch, LeftOperand a, const float* b,
                         std::int64_t b_pitch, std::int64_t depth, Into into) {
  Vector total[rows][vectors];
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      total[r][v] = into == Into::sum ? load(out + r * out_pitch + v * kLanes) : Vector{};
  const float* from = a.a;
  for (std::int64_t k = 0; k < depth; ++k, from += a.step, b += b_pitch) {
    Vector w[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) w[v] = load(b + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) total[r][v] += w[v] * from[r * a.row];
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(out + r * out_pitch + v * kLanes, total[r][v]);
}

// The last rows, fewer than a block has.
template <int most, int vectors>
inline void last_rows(std::int64_t rows, float* out, std::int64_t out_pitch, LeftOperand a, const float* b,
                      std::int64_t b_pitch, std::int64_t depth, Into into) {
  if constexpr (most > 0) {
    if (rows == most) return matrix_block<most, vectors>(out, out_pitch, a, b, b_pitch, depth, into);
    last_rows<most - 1, vectors>(rows, out, out_pitch, a, b, b_pitch, depth, into);
  }
}

// All rows of `columns`, a multiple of kLanes.
inline void matrix_columns(float* out, std::int64_t out_pitch, LeftOperand a, std::int64_t rows,
                           const float* b, std::int64_t b_pitch, std::int64_t columns, std::int64_t depth,
                           Into into) {
  std::int64_t c = 0;
  const auto blocks = [&]<int vectors>() {
    for (; c + vectors * kLanes <= columns; c += vectors * kLanes) {
      std::int64_t r = 0;
      const auto at = [&] { return LeftOperand{a.a + r * a.row, a.row, a.step}; };
      for (; r + kMatrixRows <= rows; r += kMatrixRows)
        matrix_block<kMatrixRows, vectors>(out + r * out_pitch + c, out_pitch, at(), b + c, b_pitch, depth,
                                           into);
      last_rows<kMatrixRows - 1, vectors>(rows - r, out + r * out_pitch + c, out_pitch, at(), b + c, b_pitch,
                                          depth, into);
    }
  };
  if constexpr (kMatrixVectors >= 4) blocks.template operator()<4>();
  blocks.template operator()<2>();
  blocks.template operator()<1>();
}

// 0 ... n - 1 as a list.
template <int... lane>
struct LaneList {};
template <int n, int... lane>
struct LanesTo : LanesTo<n - 1, n - 1, lane...> {};
template <int... lane>
struct LanesTo<0, lane...> {
  using List = LaneList<lane...>;
};

// Swaps every second group of `width` lanes of a with the group of b to its left.
template <int width, int... lane>
inline void exchange_groups(Vector& a, Vector& b, LaneList<lane...>) {
  const Vector upper = a, lower = b;
  a = __builtin_shufflevector(upper, lower, (lane & width ? lane - width + kLanes : lane)...);
  b = __builtin_shufflevector(upper, lower, (lane & width ? lane + kLanes : lane + width)...);
}

// In each 2 width x 2 width square of kLanes rows: swaps the upper right with the lower left quarter; then
// the same for larger squares. From width 1 on that exchanges the elements (r, c) and (c, r).
template <int width>
inline void exchange_quarters(Vector (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r)
    if (!(r & width)) exchange_groups<width>(rows[r], rows[r + width], typename LanesTo<kLanes>::List{});
  if constexpr (2 * width < kLanes) exchange_quarters<2 * width>(rows);
}

// to (depth, columns; pitch `columns`) = from (columns, depth; pitch given), transposed; columns is a
// multiple of kLanes.
inline void transpose_columns(float* to, const float* from, std::int64_t pitch, std::int64_t columns,
                              std::int64_t depth) {
  for (std::int64_t c = 0; c < columns; c += kLanes) {
    std::int64_t k = 0;
    for (; k + kLanes <= depth; k += kLanes) {
      Vector rows[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) rows[r] = load(from + (c + r) * pitch + k);
      exchange_quarters<1>(rows);
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) store(to + (k + r) * columns + c, rows[r]);
    }
    for (; k < depth; ++k)
      for (int r = 0; r < kLanes; ++r) to[k * columns + c + r] = from[(c + r) * pitch + k];
  }
}

// out (m, n) = a * b^T
inline void product_with_transposed(float* out, const float* a, const float* b, const ProductShape& s,
                                    float* scratch) {
  for (std::int64_t c = 0; c < s.n; c += kProductColumns) {
    const std::int64_t columns = s.n - c < kProductColumns ? s.n - c : kProductColumns;
    for (std::int64_t k = 0; k < s.k; k += kProductDepth) {
      const std::int64_t depth = s.k - k < kProductDepth ? s.k - k : kProductDepth;
      transpose_columns(scratch, b + c * s.b_pitch + k, s.b_pitch, columns, depth);
      matrix_columns(out + c, s.out_pitch, {a + k, s.a_pitch, 1}, s.m, scratch, columns, columns, depth,
                     k == 0 ? Into::nothing : Into::sum);
    }
  }
}

// to (depth, rows) = the same part of a matrix with `pitch`.
inline void copy_strip(float* to, const float* from, std::int64_t pitch, std::int64_t rows,
                       std::int64_t depth) {
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t r = 0; r < rows; ++r) to[k * rows + r] = from[k * pitch + r];
}

void product(float* out, const float* a, const float* b, const ProductShape& s, float* scratch) {
  if (s.transpose_b) return product_with_transposed(out, a, b, s, scratch);
  for (std::int64_t k = 0; k < s.k; k += kProductDepth) {
    const std::int64_t depth = s.k - k < kProductDepth ? s.k - k : kProductDepth;
    for (std::int64_t r = 0; r < s.m; r += kProductStrip) {
      const std::int64_t rows = s.m - r < kProductStrip ? s.m - r : kProductStrip;
      LeftOperand left{a + r * s.a_pitch + k, s.a_pitch, 1};
      if (s.transpose_a) {
        copy_strip(scratch, a + k * s.a_pitch + r, s.a_pitch, rows, depth);
        left = {scratch, 1, rows};
      }
      for (std::int64_t c = 0; c < s.n; c += kProductColumns)
        matrix_columns(out + r * s.out_pitch + c, s.out_pitch, left, rows, b + k * s.b_pitch + c, s.b_pitch,
                       s.n - c < kProductColumns ? s.n - c : kProductColumns, depth,
                       k == 0 ? Into::nothing : Into::sum);
    }
  }
}

}  // namespace
}  // namespace ronde::inline v0
