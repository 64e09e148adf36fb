/// The matrix products between Winograd's transforms: one for each of the 36 points.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// Accumulators fill three quarters of the registers: at most so many vectors of columns, and rows to match.
constexpr int kWidestColumns = kVectorRegisters >= 32 ? 4 : 2;
template <int vectors>
constexpr int kProductRows =
    kVectorRegisters * 3 / 4 / vectors < 12 ? kVectorRegisters * 3 / 4 / vectors : 12;

// out (rows, vectors * kLanes) = in (rows, depth) * u (depth, columns); what was in `out` may be `in`.
template <int rows, int vectors>
inline void product_block(float* out, std::int64_t out_pitch, const float* in, std::int64_t in_pitch,
                          const float* u, std::int64_t columns, std::int64_t depth) {
  Vector total[rows][vectors] = {};
#pragma GCC unroll 2
  for (std::int64_t k = 0; k < depth; ++k, u += columns) {
    Vector w[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) w[v] = load(u + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) total[r][v] += w[v] * in[r * in_pitch + k];
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(out + r * out_pitch + v * kLanes, total[r][v]);
}

inline bool is_one_block(std::int64_t columns) {
  return columns == kLanes || columns == 2 * kLanes || columns == kWidestColumns * kLanes;
}

// Memory that is needed soon. Parts of it are asked for beside each point's product, which takes long enough
// for them to come; the transforms would wait for every row of pixels.
struct Ahead {
  const float* from = nullptr;
  std::int64_t lines = 0;

  void fetch(int point) const {
    constexpr int kLine = 64 / sizeof(float), kSecondLevel = 2;
    for (std::int64_t i = lines * point / kWinogradPoints; i < lines * (point + 1) / kWinogradPoints; ++i)
      __builtin_prefetch(from + i * kLine, 0, kSecondLevel);
  }
};

// All points of a block of `n` tiles, in place: values (point, tile, depth) become (point, tile, columns).
// The rows up to the next multiple of kWinogradTiles are computed too, whatever is in them.
inline void multiply_points(const WinogradBlock& block, const float* u, std::int64_t n, std::int64_t depth,
                            std::int64_t columns, const Ahead& in_ahead, const Ahead& out_ahead) {
  const std::int64_t pitch = block.pitch, point = block.point();
  const std::int64_t u_point = winograd_point(depth * columns);
  for (int x = 0; x < kWinogradPoints; ++x, u += u_point) {
    in_ahead.fetch(x);
    out_ahead.fetch(x);
    float* values = block.values + x * point;
    const float* in = values;
    std::int64_t in_pitch = pitch;
    if (!is_one_block(columns)) {  // the first columns would overwrite what the next ones need
      for (std::int64_t t = 0; t < n; ++t)
        for (std::int64_t k = 0; k < depth; k += kLanes)
          store(block.rows + t * depth + k, load(values + t * pitch + k));
      in = block.rows, in_pitch = depth;
    }
    std::int64_t o = 0;
    const auto column_blocks = [&]<int vectors>() {
      constexpr int kRows = kProductRows<vectors>;
      static_assert(kWinogradTiles % kRows == 0);
      for (; o + vectors * kLanes <= columns; o += vectors * kLanes)
        for (std::int64_t t = 0; t < n; t += kRows)
          product_block<kRows, vectors>(values + t * pitch + o, pitch, in + t * in_pitch, in_pitch, u + o,
                                        columns, depth);
    };
    if constexpr (kWidestColumns >= 4) column_blocks.template operator()<4>();
    column_blocks.template operator()<2>();
    column_blocks.template operator()<1>();
  }
}

// sum (rows, vectors * kLanes; pitch `columns`) += over n tiles a (tile, rows)^T * b (tile, columns)
template <int rows, int vectors>
inline void outer_block(float* sum, const float* a, std::int64_t a_pitch, const float* b,
                        std::int64_t columns, std::int64_t n) {
  Vector total[rows][vectors] = {};
  for (std::int64_t t = 0; t < n; ++t, a += a_pitch, b += columns) {
    Vector g[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) g[v] = load(b + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) total[r][v] += g[v] * a[r];
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* to = sum + r * columns + v * kLanes;
      store(to, load(to) + total[r][v]);
    }
}

// sums (point, c, o) += over n tiles a (point, tile, c) * b (point, tile, o)
inline void accumulate_points(float* sums, const float* a, const float* b, std::int64_t n, std::int64_t c,
                              std::int64_t o, const Ahead& ahead) {
  for (int x = 0; x < kWinogradPoints; ++x) {
    ahead.fetch(x);
    std::int64_t column = 0;
    const auto column_blocks = [&]<int vectors>() {
      constexpr int kRows = kProductRows<vectors>;
      for (; column + vectors * kLanes <= o; column += vectors * kLanes) {
        std::int64_t row = 0;
        for (; row + kRows <= c; row += kRows)
          outer_block<kRows, vectors>(sums + row * o + column, a + row, c, b + column, o, n);
        for (; row + 2 <= c; row += 2)
          outer_block<2, vectors>(sums + row * o + column, a + row, c, b + column, o, n);
      }
    };
    if constexpr (kWidestColumns >= 4) column_blocks.template operator()<4>();
    column_blocks.template operator()<2>();
    column_blocks.template operator()<1>();
    sums += winograd_point(c * o);
    a += winograd_point(kWinogradTiles * c);
    b += winograd_point(kWinogradTiles * o);
  }
}

}  // namespace
}  // namespace ronde::inline v0
