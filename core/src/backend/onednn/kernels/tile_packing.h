/// Operands of tiles: matrices of bfloat16, brought into the order in which a tile is loaded.
///
/// A left operand's tile is 16 rows of 32 values of the inner dimension. A right operand's is 16 rows of
/// pairs: row j holds the values 2 j and 2 j + 1 of the inner dimension, side by side, for 16 columns.
#pragma once

#include "backend/onednn/kernels/bfloat16_loops.h"
#include "backend/onednn/kernels/tile_pieces.h"
#include "backend/onednn/kernels/tile_shape.h"
#include "backend/onednn/kernels/transpose.h"

namespace ronde::inline v0 {
namespace {

static_assert(kLanes == 16, "a tile's row is one vector");

// In memory, at any address of a bfloat16.
typedef float UnalignedPairs __attribute__((vector_size(kVectorBytes), aligned(2), may_alias));

inline Vector load_pairs(const std::uint16_t* p) {
  return *reinterpret_cast<const UnalignedPairs*>(p);
}
inline void store_pairs(std::uint16_t* p, Vector v) {
  *reinterpret_cast<UnalignedPairs*>(p) = v;
}
/// The elements of two rows, in turn.
inline Vector interleaved(const std::uint16_t* even, const std::uint16_t* odd) {
  return reinterpret_cast<Vector>(load_halves(even) | load_halves(odd) << 16);
}

/// n values, eight of them at a time at the end: channels are mostly a multiple of that.
inline void copy_values(std::uint16_t* to, const std::uint16_t* from, std::int64_t n) {
  std::int64_t k = 0;
  for (; k + kTileDepth <= n; k += kTileDepth) store_pairs(to + k, load_pairs(from + k));
  for (; k + 8 <= n; k += 8) __builtin_memcpy(to + k, from + k, 16);
  for (; k < n; ++k) to[k] = from[k];
}
inline void copy_values(float* to, const float* from, std::int64_t n) {
  std::int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) store(to + k, load(from + k));
  for (; k < n; ++k) to[k] = from[k];
}

/// The first `rows` x `columns` of `from` among zeros, if that is not all of `most_rows` x `most_columns`.
template <class T>
[[gnu::noinline]] inline RowsOf<T> filled_up(RowsOf<T> from, std::int64_t rows, std::int64_t columns,
                                             std::int64_t most_rows, std::int64_t most_columns,
                                             T (&room)[kTileElements]) {
  if (rows >= most_rows && columns >= most_columns) return from;
  if (rows > most_rows) rows = most_rows;
  if (columns > most_columns) columns = most_columns;
  __builtin_memset(room, 0, sizeof room);
  for (std::int64_t r = 0; r < rows; ++r)
    copy_values(room + r * most_columns, from.values + r * from.pitch, columns);
  return {room, most_columns};
}

/// From 16 rows of 32 values.
inline void pack_rows(std::uint16_t* tile, HalfRows from) {
  for (int r = 0; r < 16; ++r) store_pairs(tile + r * kTileDepth, load_pairs(from.values + r * from.pitch));
}
/// From 32 rows, those of the inner dimension, of 16 values.
inline void pack_pairs(std::uint16_t* tile, HalfRows from) {
  for (int r = 0; r < 16; ++r)
    store_pairs(tile + r * kTileDepth,
                interleaved(from.values + 2 * r * from.pitch, from.values + (2 * r + 1) * from.pitch));
}
/// From 16 rows, which become columns, of 32 values.
[[gnu::noinline]] inline void pack_transposed_pairs(std::uint16_t* tile, HalfRows from) {
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) rows[r] = load_pairs(from.values + r * from.pitch);
  transpose(rows);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) store_pairs(tile + r * kTileDepth, rows[r]);
}
/// From 32 rows, those of the inner dimension, of 16 values, which become rows `pitch` apart.
[[gnu::noinline]] inline void pack_transposed_rows(std::uint16_t* to, std::int64_t pitch, HalfRows from) {
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r)
    rows[r] = interleaved(from.values + 2 * r * from.pitch, from.values + (2 * r + 1) * from.pitch);
  transpose(rows);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) store_pairs(to + r * pitch, rows[r]);
}

/// The same from rows that begin at `places`, to rows one behind the other.
[[gnu::noinline]] inline void pack_transposed_places(std::uint16_t* tile, const std::uint16_t* from, const std::int32_t* places) {
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) rows[r] = interleaved(from + places[2 * r], from + places[2 * r + 1]);
  transpose(rows);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) store_pairs(tile + r * kTileDepth, rows[r]);
}

/// Tiles (row tile, depth tile) of a (rows, depth) or, transposed, (depth, rows).
inline void pack_left(std::uint16_t* tiles, HalfRows a, bool is_transposed, std::int64_t rows,
                      std::int64_t depth) {
  std::uint16_t room[kTileElements];
  for (std::int64_t r = 0; r < rows; r += kTileRows)
    for (std::int64_t k = 0; k < depth; k += kTileDepth, tiles += kTileElements)
      if (is_transposed)
        pack_transposed_rows(tiles, kTileDepth,
                             filled_up<std::uint16_t>({a.values + k * a.pitch + r, a.pitch}, depth - k,
                                                      rows - r, kTileDepth, kTileRows, room));
      else
        pack_rows(tiles, filled_up<std::uint16_t>({a.values + r * a.pitch + k, a.pitch}, rows - r, depth - k,
                                                  kTileRows, kTileDepth, room));
}

/// Tiles (column tile, depth tile) of b (depth, columns) or, transposed, (columns, depth).
///
/// Of two column tiles in turn: the rows of one are half a cache line, and where rows lie a power of two
/// apart the other half would be gone before its turn.
inline void pack_right(std::uint16_t* tiles, HalfRows b, bool is_transposed, std::int64_t columns,
                       std::int64_t depth) {
  std::uint16_t room[kTileElements];
  const std::int64_t depth_tiles = tiles_for(depth, kTileDepth);
  for (std::int64_t pair = 0; pair < columns; pair += 2 * kTileColumns)
    for (std::int64_t k = 0; k < depth; k += kTileDepth)
      for (std::int64_t c = pair; c < columns && c < pair + 2 * kTileColumns; c += kTileColumns) {
        std::uint16_t* tile = tiles + (c / kTileColumns * depth_tiles + k / kTileDepth) * kTileElements;
        if (is_transposed)
          pack_transposed_pairs(
              tile, filled_up<std::uint16_t>({b.values + c * b.pitch + k, b.pitch}, columns - c, depth - k,
                                             kTileColumns, kTileDepth, room));
        else
          pack_pairs(tile, filled_up<std::uint16_t>({b.values + k * b.pitch + c, b.pitch}, depth - k,
                                                    columns - c, kTileDepth, kTileColumns, room));
      }
}

}  // namespace
}  // namespace ronde::inline v0
