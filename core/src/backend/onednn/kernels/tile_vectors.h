/// Blocks of tiles by AVX512_BF16: tiles lie in memory, and their products are added up a row at a time.
#pragma once

#include <immintrin.h>

#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/tile_operands.h"
#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

/// Processors with AVX512_BF16 but no tiles have 1 MiB of second level cache.
constexpr std::int64_t kTileStripDepth = 512;

/// Nothing has to be set up for vectors.
struct Tiles {
  /// The elements of both as bfloat16, those of `first` first.
  static Vector rounded(Vector first, Vector second) {
    return reinterpret_cast<Vector>(_mm512_cvtne2ps_pbh(second, first));
  }
};

// Of a tile that are added up at once: with two tiles' columns as many sums as the instruction, two of which
// begin in a cycle and end some six later, needs to wait for none of them.
constexpr int kRowsAtOnce = 8;
constexpr int kPartsOfBlock = 2 * kTileRows / kRowsAtOnce;
constexpr int kPairs = kTileDepth / 2;
static_assert(kTileRows % kRowsAtOnce == 0 && kTileColumns == kLanes);

// sum += a(2 k) * b(2 k) + a(2 k + 1) * b(2 k + 1), the same pair of a for all columns.
inline Vector add_pairs(Vector sum, Vector b, const std::uint16_t* a) {
  std::int32_t pair;
  __builtin_memcpy(&pair, a, sizeof pair);
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair)),
                          reinterpret_cast<__m512bh>(b));
}

// kRowsAtOnce rows of `columns` tiles' sums.
template <int columns>
inline void add_rows(float* const (&to)[columns], std::int64_t pitch, const TileSums& sums, TileOperands from, std::int64_t steps, bool is_first,
                     NextPieces& next, std::int64_t lines) {
  NextPieces ahead = next;
  Vector total[kRowsAtOnce][columns];
#pragma GCC unroll 8
  for (int r = 0; r < kRowsAtOnce; ++r)
#pragma GCC unroll 2
    for (int c = 0; c < columns; ++c)
      total[r][c] = is_first ? Vector{} : load(sums.at(0, c) + r * kTileColumns);
  for (std::int64_t step = 0; step < steps; ++step, from.left += kTileElements, from.right += kTileElements) {
    for (std::int64_t i = 0; i < lines; ++i) ahead.fetch();
    for (int pair = 0; pair < kPairs; ++pair) {
      Vector b[columns];
#pragma GCC unroll 2
      for (int c = 0; c < columns; ++c)
        b[c] = load(reinterpret_cast<const float*>(from.right + c * from.right_tile) + pair * kTileColumns);
#pragma GCC unroll 8
      for (int r = 0; r < kRowsAtOnce; ++r)
#pragma GCC unroll 2
        for (int c = 0; c < columns; ++c)
          total[r][c] = add_pairs(total[r][c], b[c], from.left + r * from.left_pitch + 2 * pair);
    }
  }
  next = ahead;
#pragma GCC unroll 8
  for (int r = 0; r < kRowsAtOnce; ++r)
#pragma GCC unroll 2
    for (int c = 0; c < columns; ++c) store(to[c] + r * pitch, total[r][c]);
}

/// to = the products of `steps` tiles of either operand, one behind the other, and `sums` but for the first
/// ones; `pitch` are the floats from one row of a tile of `to` to the next. In each step of each of
/// kPartsOfBlock parts `lines` are fetched.
template <int rows, int columns>
inline void add_block(const Tiles&, const TileSums& to, std::int64_t pitch, const TileSums& sums,
                      const TileOperands& from, std::int64_t steps, bool is_first, NextPieces& next,
                      std::int64_t lines) {
  for (int tile = 0; tile < rows; ++tile)
    for (int r = 0; r < kTileRows; r += kRowsAtOnce) {
      TileSums sums_of_rows = sums;
      sums_of_rows.first = sums.at(tile, 0) + r * kTileColumns;
      TileOperands rows_of = from;
      rows_of.left += tile * from.left_tile + r * from.left_pitch;
      float* to_rows[columns];
      for (int c = 0; c < columns; ++c) to_rows[c] = to.at(tile, c) + r * pitch;
      add_rows<columns>(to_rows, pitch, sums_of_rows, rows_of, steps, is_first, next, lines);
    }
}

}  // namespace
}  // namespace ronde::inline v0
