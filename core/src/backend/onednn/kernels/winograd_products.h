/// The matrix products between Winograd's transforms: one for each point.
#pragma once

#include "backend/onednn/kernels/into.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// Accumulators fill three quarters of the registers: at most so many vectors of columns, and rows to match.
constexpr int kWidestColumns = kVectorRegisters >= 32 ? 4 : 2;
template <int vectors>
constexpr int kProductRows =
    kVectorRegisters * 3 / 4 / vectors < 12 ? kVectorRegisters * 3 / 4 / vectors : 12;

// out (rows, vectors * kLanes) = in (rows, depth) * u (depth, vectors * kLanes), added to what is there if
// `adds`, which the compiler knows: finding all the places before the loop took a twentieth of a short one.
template <int rows, int vectors, bool adds>
inline void product_block(float* out, std::int64_t out_pitch, const float* in, std::int64_t in_pitch,
                          const float* u, std::int64_t depth) {
  Vector total[rows][vectors] = {};
  if constexpr (adds) {
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) total[r][v] = load(out + r * out_pitch + v * kLanes);
  }
#pragma GCC unroll 2
  for (std::int64_t k = 0; k < depth; ++k, u += vectors * kLanes) {
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

// Calls f<vectors>(column, place) for blocks that cover all columns, at least kLanes; only the last one may
// overlap what came before it, and its place is behind the others.
template <class F>
inline void for_columns(std::int64_t columns, const F& f) {
  std::int64_t o = 0;
  const auto blocks = [&]<int vectors>() {
    for (; o + vectors * kLanes <= columns; o += vectors * kLanes) f.template operator()<vectors>(o, o);
  };
  if constexpr (kWidestColumns >= 4) blocks.template operator()<4>();
  blocks.template operator()<2>();
  blocks.template operator()<1>();
  if (o < columns) f.template operator()<1>(columns - kLanes, o);
}

// The place of the columns from `column` on, which the last of such blocks shares with the one before it.
inline std::int64_t place_of(std::int64_t column) {
  return (column + kLanes - 1) / kLanes * kLanes;
}

// Memory that is needed soon. Parts of it are asked for beside each point's product, which takes long enough
// for them to come; the transforms would wait for every row of pixels.
struct Ahead {
  const float* from = nullptr;
  std::int64_t lines = 0;

  void fetch(int point, int points) const {
    for (std::int64_t i = lines * point / points; i < lines * (point + 1) / points; ++i)
      __builtin_prefetch(from + i * kCacheLine, 0, kSecondLevel);
  }
};

// Rows of u that a strip of tiles goes through before the next strip does: as many as the first level cache
// holds.
constexpr std::int64_t kStripDepth = 128;

// A block of columns of all tiles. The rows up to the next multiple of a product's are computed too, whatever
// is in them.
template <int vectors, bool adds>
[[gnu::noinline]] inline void multiply_columns(float* out, std::int64_t out_pitch, const float* in,
                                               std::int64_t in_pitch, const float* u, std::int64_t n,
                                               std::int64_t depth) {
  constexpr int kRows = kProductRows<vectors>;
  static_assert(12 % kRows == 0);  // as a block's tiles are
  std::int64_t t = 0;
  const auto block = [&]<int rows>() {
    product_block<rows, vectors, adds>(out + t * out_pitch, out_pitch, in + t * in_pitch, in_pitch, u, depth);
    t += rows;
  };
  while (n - t > 2) block.template operator()<kRows>();
  if (t < n) block.template operator()<2>();
}

// All points of `n` tiles: values (point, tile, depth) become results (point, tile, columns), or are added to
// them. Note [Packed filters]: u lies in the order in which it is read, the columns of a block side by
// side: row k of the block from column o on is at o * depth + k * width. An overlapping block has its own
// copy behind the others, and its results too: place_of.
[[gnu::noinline]] inline void multiply_points(const WinogradPoints& results, const WinogradPoints& values,
                                              int points, const float* u, std::int64_t n, std::int64_t depth,
                                              std::int64_t columns, Into into, const Ahead& in_ahead,
                                              const Ahead& out_ahead) {
  const std::int64_t u_point = winograd_filter_point(depth, columns, kLanes);
  for (int x = 0; x < points; ++x, u += u_point) {
    in_ahead.fetch(x, points);
    out_ahead.fetch(x, points);
    float* out = results.values + x * results.point;
    const float* in = values.values + x * values.point;
    for_columns(columns, [&]<int vectors>(std::int64_t, std::int64_t place) {
      for (std::int64_t k = 0; k < depth; k += kStripDepth) {
        const std::int64_t length = depth - k < kStripDepth ? depth - k : kStripDepth;
        const auto multiply = k == 0 && into == Into::nothing ? multiply_columns<vectors, false>
                                                              : multiply_columns<vectors, true>;
        multiply(out + place, results.pitch, in + k, values.pitch, u + place * depth + k * vectors * kLanes,
                 n, length);
      }
    });
  }
}

// A matrix: the elements from one row to the next.
struct Rows {
  const float* values;
  std::int64_t pitch;
};

// sum (rows, vectors * kLanes; pitch `columns`) = or += over n tiles a (tile, rows)^T * b (tile, columns), of
// the last vector in the lanes that are `fresh`
template <int rows, int vectors>
inline void outer_block(float* sum, std::int64_t columns, Rows a, Rows b, std::int64_t n, IntVector fresh,
                        Into into) {
  Vector total[rows][vectors] = {};
  for (std::int64_t t = 0; t < n; ++t, a.values += a.pitch, b.values += b.pitch) {
    Vector g[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) g[v] = load(b.values + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) total[r][v] += g[v] * a.values[r];
  }
#pragma GCC unroll 12
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* to = sum + r * columns + v * kLanes;
      const Vector added = v == vectors - 1 ? masked(fresh, total[r][v]) : total[r][v];
      store(to, into == Into::sum ? load(to) + added : added);
    }
}

// sums (point, c, o) = or += over n tiles a (point, tile, c) * b (point, tile, o). What comes from two blocks
// of columns is added once, or written twice.
[[gnu::noinline]] inline void accumulate_points(float* sums, int points, const WinogradPoints& a,
                                                const WinogradPoints& b, std::int64_t n, std::int64_t c,
                                                std::int64_t o, Into into, const Ahead& ahead) {
  for (int x = 0; x < points; ++x) {
    ahead.fetch(x, points);
    const float *left = a.values + x * a.point, *right = b.values + x * b.point;
    for_columns(o, [&]<int vectors>(std::int64_t column, std::int64_t place) {
      constexpr int kRows = kProductRows<vectors>;
      const IntVector fresh = lanes_from(into == Into::sum ? place - column : 0);
      std::int64_t row = 0;
      const auto rows = [&]<int count>(std::int64_t end) {
        for (; row + count <= end; row += count)
          outer_block<count, vectors>(sums + row * o + column, o, {left + row, a.pitch},
                                      {right + column, b.pitch}, n, fresh, into);
      };
      // Two rows are too few sums to keep the multipliers busy: two times four rather than a block and two.
      rows.template operator()<kRows>(c % kRows == 2 && kRows < c ? c - kRows - 2 : c);
      rows.template operator()<4>(c);
      rows.template operator()<2>(c);
      rows.template operator()<1>(c);
    });
    sums += winograd_point(c * o);
  }
}

}  // namespace
}  // namespace ronde::inline v0
