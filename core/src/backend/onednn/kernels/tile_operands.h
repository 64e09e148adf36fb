/// Where blocks of up to two by two tiles are: their operands, and their sums.
#pragma once

#include <cstdint>

#include "backend/onednn/kernels/tile_shape.h"

namespace ronde::inline v0 {
namespace {

/// Calls f<count>(first) for tiles two by two.
template <class F>
[[gnu::always_inline]] inline void for_pairs(std::int64_t tiles, const F& f) {
  for (std::int64_t t = 0; t + 2 <= tiles; t += 2) f.template operator()<2>(t);
  if (tiles % 2) f.template operator()<1>(tiles - 1);
}

/// Tiles of sums in memory, 16 x 16 floats each: elements from one to the next.
struct TileSums {
  float* first;
  std::int64_t row, column;
  float* at(int r, int c) const { return first + r * row + c * column; }
};

/// Where the operands' tiles of one step are.
struct TileOperands {
  const std::uint16_t *left, *right;
  std::int64_t left_tile, right_tile;  // elements from the first tile to the second
  std::int64_t left_pitch;             // elements from one row to the next; a right tile's rows are dense
};

}  // namespace
}  // namespace ronde::inline v0
