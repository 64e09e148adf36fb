/// Products of bfloat16 matrices by tiles, added up in float.
///
/// Strips of both operands are packed into tiles that lie one behind the other; blocks of two by two tiles of
/// sums, by tile_registers.h or tile_vectors.h, stay in registers while the inner dimension goes by. An
/// element's sum is added up in an order that depends on the inner dimension alone.
#pragma once

#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/tile_operands.h"
#include "backend/onednn/kernels/tile_packing.h"

namespace ronde::inline v0 {
namespace {

// The first `columns` values, or all that a vector has.
inline Vector load_first(const float* from, std::int64_t columns) {
  if (columns >= kLanes) return load(from);
  alignas(64) float values[kLanes] = {};
  for (std::int64_t c = 0; c < columns; ++c) values[c] = from[c];
  return load(values);
}

// `columns` sums, of which a tile has 16, become results from `place` on; the first one is that of bias[0].
inline void finish_row(const TileResult& out, std::int64_t place, const float* sums, std::int64_t columns,
                       const float* bias, Epilogue epilogue) {
  const Vector y = load(sums) + (bias ? load_first(bias, columns) : Vector{});
  const Vector result = epilogue == Epilogue::relu ? positive_part(y) : y;
  if (!out.halves) {
    if (columns >= kLanes) return store(out.floats + place, result);
    for (std::int64_t c = 0; c < columns; ++c) out.floats[place + c] = result[c];
    return;
  }
  if (columns >= kLanes) return store_halves(out.halves + place, rounded_halves(result));
  std::uint16_t row[kTileColumns];
  store_halves(row, rounded_halves(result));
  copy_values(out.halves + place, row, columns);
}

inline std::int64_t at_most(std::int64_t n, std::int64_t most) {
  return n < most ? n : most;
}

struct TileProductOperands {
  const std::uint16_t *a, *b;
  const ProductShape& shape;
};

struct TileProductResult {
  const TileResult& out;
  const float* bias;
  Epilogue epilogue;
};

// What is multiplied at a time: rows of a and columns of b, from these on, and a part of the inner dimension.
struct TilePiece {
  std::int64_t row, column, k;

  std::int64_t rows(const ProductShape& s) const { return at_most(s.m - row, kTileStrip); }
  std::int64_t columns(const ProductShape& s) const { return at_most(s.n - column, kTileStripColumns); }
  std::int64_t depth(const ProductShape& s) const { return at_most(s.k - k, kTileStripDepth); }
  HalfRows left(const TileProductOperands& of) const {
    const std::int64_t pitch = of.shape.a_pitch;
    return {of.a + (of.shape.transpose_a ? k * pitch + row : row * pitch + k), pitch};
  }
  HalfRows right(const TileProductOperands& of) const {
    const std::int64_t pitch = of.shape.b_pitch;
    return {of.b + (of.shape.transpose_b ? column * pitch + k : k * pitch + column), pitch};
  }
  bool is_last_of_strip(const ProductShape& s) const { return k + kTileStripDepth >= s.k; }
  bool has_left_of(const TilePiece& other) const { return row == other.row && k == other.k; }
  bool has_right_of(const TilePiece& other) const { return column == other.column && k == other.k; }

  // The one that comes next; behind the last one its row is shape.m or more.
  TilePiece next(const ProductShape& s) const {
    if (!is_last_of_strip(s)) return {row, column, k + kTileStripDepth};
    if (column + kTileStripColumns < s.n) return {row, column + kTileStripColumns, 0};
    return {row + kTileStrip, 0, 0};
  }
};

inline Lines lines_of(HalfRows from, bool is_transposed, std::int64_t rows, std::int64_t columns) {
  return is_transposed ? Lines(from.values, from.pitch, columns, rows)
                       : Lines(from.values, from.pitch, rows, columns);
}

inline NextPieces pieces_behind(const TilePiece& now, const TileProductOperands& of) {
  const ProductShape& s = of.shape;
  const TilePiece next = now.next(s);
  if (next.row >= s.m) return {};
  NextPieces pieces;
  if (!next.has_left_of(now))
    pieces.left = lines_of(next.left(of), s.transpose_a, next.rows(s), next.depth(s));
  if (!next.has_right_of(now))
    pieces.right = lines_of(next.right(of), s.transpose_b, next.depth(s), next.columns(s));
  return pieces;
}

// The sums of a strip of rows and columns of the result.
class TileStrip {
 public:
  explicit TileStrip(float* scratch)
      : sums_(scratch),
        left_(reinterpret_cast<std::uint16_t*>(scratch + kTileStrip * kTileStripColumns)),
        right_(left_ + kTileStrip * kTileStripDepth) {}

  // Both operands in tiles, but for one that the piece before it had too.
  void pack(const TilePiece& piece, const TilePiece& before, const TileProductOperands& of) const {
    const ProductShape& s = of.shape;
    if (!piece.has_left_of(before))
      pack_left(left_, piece.left(of), s.transpose_a, piece.rows(s), piece.depth(s));
    if (!piece.has_right_of(before))
      pack_right(right_, piece.right(of), s.transpose_b, piece.columns(s), piece.depth(s));
  }

  // The products of what is packed; the last ones become results while they are in the cache.
  void multiply(const Tiles& tiles, const TilePiece& piece, const TileProductOperands& of,
                const TileProductResult& result) const {
    const ProductShape& s = of.shape;
    const std::int64_t row_tiles = tiles_for(piece.rows(s), kTileRows),
                       column_tiles = tiles_for(piece.columns(s), kTileColumns),
                       steps = tiles_for(piece.depth(s), kTileDepth), operand = steps * kTileElements;
    NextPieces next = pieces_behind(piece, of);
    const std::int64_t fetches = tiles_for(row_tiles, 2) * tiles_for(column_tiles, 2) * steps * kPartsOfBlock,
                       lines = tiles_for(next.left.count() + next.right.count(), fetches);
    const bool is_last = piece.is_last_of_strip(s);
    for_pairs(row_tiles, [&]<int block_rows>(std::int64_t r) {
      // Sums that no other piece adds to need no room of their own.
      float* sums = sums_ + (piece.k == 0 && is_last ? 0 : r * column_tiles * kTileSums);
      for_pairs(column_tiles, [&]<int block_columns>(std::int64_t c) {
        add_block<block_rows, block_columns>(
            tiles, {sums + c * kTileSums, column_tiles * kTileSums, kTileSums},
            {left_ + r * operand, right_ + c * operand, operand, operand, kTileDepth}, steps, piece.k == 0,
            next, lines);
      });
      if (is_last)
        finish(result, sums, {piece.row + r * kTileRows, piece.column, 0},
               at_most(piece.rows(s) - r * kTileRows, block_rows * kTileRows), s);
    });
  }

 private:
  // `rows` of the strip, from the place `first` of the result on.
  void finish(const TileProductResult& result, const float* sums, const TilePiece& first, std::int64_t rows,
              const ProductShape& s) const {
    const std::int64_t columns = first.columns(s), column_tiles = tiles_for(columns, kTileColumns);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; c += kTileColumns)
        finish_row(result.out, (first.row + r) * result.out.pitch + first.column + c,
                   sums + (r / kTileRows * column_tiles + c / kTileColumns) * kTileSums +
                       r % kTileRows * kTileColumns,
                   columns - c, result.bias ? result.bias + first.column + c : nullptr, result.epilogue);
  }

  float* sums_;  // (row tile, column tile)
  std::uint16_t *left_, *right_;
};

void tile_product(const TileResult& out, const std::uint16_t* a, const std::uint16_t* b,
                  const ProductShape& shape, const float* bias, Epilogue epilogue, float* scratch) {
  const Tiles tiles;
  const TileStrip strip(scratch);
  const TileProductOperands operands{a, b, shape};
  TilePiece before{-1, -1, -1};
  for (TilePiece piece{0, 0, 0}; piece.row < shape.m; before = piece, piece = piece.next(shape)) {
    strip.pack(piece, before, operands);
    strip.multiply(tiles, piece, operands, {out, bias, epilogue});
  }
}

}  // namespace
}  // namespace ronde::inline v0
