/// Blocks of tiles whose sums and operands are registers: those of `Tiles`, which is included before this.
#pragma once

#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/tile_operands.h"

namespace ronde::inline v0 {
namespace {

/// A processor with tiles has 2 MiB of second level cache. Where all of the inner dimension goes through it
/// at once, rows of a are packed once for all columns of b.
constexpr std::int64_t kTileStripDepth = kDeepestTileStrip;

constexpr int kFirstLeft = 4, kFirstRight = 6;  // registers; those before them hold sums

/// Calls f(row, column) for rows x columns of tiles.
template <int rows, int columns, class F>
[[gnu::always_inline]] inline void for_tiles(const F& f) {
  f.template operator()<0, 0>();
  if constexpr (columns == 2) f.template operator()<0, 1>();
  if constexpr (rows == 2) f.template operator()<1, 0>();
  if constexpr (rows == 2 && columns == 2) f.template operator()<1, 1>();
}

template <int rows, int columns>
inline void load_sums(const Tiles& tiles, const TileSums& sums) {
  for_tiles<rows, columns>(
      [&]<int r, int c>() { tiles.template load<2 * r + c>(sums.at(r, c), kTileColumns * 4); });
}
template <int rows, int columns>
inline void clear_sums(const Tiles& tiles) {
  for_tiles<rows, columns>([&]<int r, int c>() { tiles.template clear<2 * r + c>(); });
}
/// `pitch`: floats from one row of a tile to the next.
template <int rows, int columns>
inline void store_sums(const Tiles& tiles, const TileSums& sums, std::int64_t pitch = kTileColumns) {
  for_tiles<rows, columns>(
      [&]<int r, int c>() { tiles.template store<2 * r + c>(sums.at(r, c), pitch * 4); });
}

/// An operand is cleared behind its last product, which takes no time. Where another thread runs on the same
/// core, loads are the slower the more of the eight registers hold something.
template <int rows, int columns>
[[gnu::always_inline]] inline void add_products(const Tiles& tiles, const TileOperands& from) {
  for_tiles<rows, columns>([&]<int r, int c>() {
    constexpr int left = kFirstLeft + r, right = kFirstRight + c;
    if constexpr (c == 0) tiles.template load<left>(from.left + r * from.left_tile, from.left_pitch * 2);
    if constexpr (r == 0) tiles.template load<right>(from.right + c * from.right_tile, kTileDepth * 2);
    tiles.template multiply<2 * r + c, left, right>();
    if constexpr (c == columns - 1) tiles.template clear<left>();
    if constexpr (r == rows - 1) tiles.template clear<right>();
  });
}

constexpr int kPartsOfBlock = 1;
/// Lines that a step fetches at most: they wait where lines of the second level cache pass on their way to
/// tiles, of which a step loads 64.
constexpr std::int64_t kMostLinesOfStep = 4;

/// to = the products of `steps` tiles of either operand, one behind the other, and `sums` but for the first
/// ones; `pitch` are the floats from one row of a tile of `to` to the next. In each step of each of
/// kPartsOfBlock parts `lines` are fetched, or kMostLinesOfStep.
template <int rows, int columns>
inline void add_block(const Tiles& tiles, const TileSums& to, std::int64_t pitch, const TileSums& sums,
                      TileOperands from, std::int64_t steps, bool is_first, NextPieces& next,
                      std::int64_t lines) {
  if (lines > kMostLinesOfStep) lines = kMostLinesOfStep;
  if (is_first)
    clear_sums<rows, columns>(tiles);
  else
    load_sums<rows, columns>(tiles, sums);
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t i = 0; i < lines; ++i) next.fetch();
    add_products<rows, columns>(tiles, from);
    from.left += kTileElements;
    from.right += kTileElements;
  }
  store_sums<rows, columns>(tiles, to, pitch);
}

}  // namespace
}  // namespace ronde::inline v0
