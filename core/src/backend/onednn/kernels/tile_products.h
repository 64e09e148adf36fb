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

// `columns` sums become results from `place` on; the first one is that of bias[0].
inline void finish_row(const TileResult& out, std::int64_t place, const float* sums, std::int64_t columns,
                       const float* bias, Epilogue epilogue) {
  if (columns >= kTileColumns) {
    const Vector y = load(sums) + (bias ? load(bias) : Vector{});
    const Vector result = epilogue == Epilogue::relu ? positive_part(y) : y;
    return out.halves ? store_halves(out.halves + place, rounded_halves(result))
                      : store(out.floats + place, result);
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    const float y = sums[c] + (bias ? bias[c] : 0);
    const float result = epilogue == Epilogue::relu && y <= 0 ? 0 : y;
    if (out.halves)
      out.halves[place + c] = rounded_half(result);
    else
      out.floats[place + c] = result;
  }
}

inline std::int64_t at_most(std::int64_t n, std::int64_t most) {
  return n < most ? n : most;
}

struct TileProductOperands {
  const std::uint16_t *a, *b;
  const ProductShape& shape;
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
  if (next.row != now.row || next.k != now.k)
    pieces.left = lines_of(next.left(of), s.transpose_a, next.rows(s), next.depth(s));
  if (next.column != now.column || next.k != now.k)
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

  void add(const Tiles& tiles, const TilePiece& piece, const TileProductOperands& of) const {
    const ProductShape& s = of.shape;
    const std::int64_t rows = piece.rows(s), columns = piece.columns(s), depth = piece.depth(s);
    pack_left(left_, piece.left(of), s.transpose_a, rows, depth);
    pack_right(right_, piece.right(of), s.transpose_b, columns, depth);
    const std::int64_t row_tiles = tiles_for(rows, kTileRows),
                       column_tiles = tiles_for(columns, kTileColumns), steps = tiles_for(depth, kTileDepth),
                       operand = steps * kTileElements;
    NextPieces next = pieces_behind(piece, of);
    const std::int64_t fetches = tiles_for(row_tiles, 2) * tiles_for(column_tiles, 2) * steps * kPartsOfBlock,
                       lines = tiles_for(next.left.count() + next.right.count(), fetches);
    for_pairs(column_tiles, [&]<int block_columns>(std::int64_t c) {
      for_pairs(row_tiles, [&]<int block_rows>(std::int64_t r) {
        add_block<block_rows, block_columns>(
            tiles, {sum(r, c, column_tiles), column_tiles * kTileSums, kTileSums},
            {left_ + r * operand, right_ + c * operand, operand, operand, kTileDepth}, steps, piece.k == 0,
            next, lines);
      });
    });
  }

  void finish(const TileResult& out, const TilePiece& piece, const ProductShape& s, const float* bias,
              Epilogue epilogue) const {
    const std::int64_t columns = piece.columns(s), column_tiles = tiles_for(columns, kTileColumns);
    for (std::int64_t r = 0; r < piece.rows(s); ++r)
      for (std::int64_t c = 0; c < columns; c += kTileColumns)
        finish_row(out, (piece.row + r) * out.pitch + piece.column + c,
                   sum(r / kTileRows, c / kTileColumns, column_tiles) + r % kTileRows * kTileColumns,
                   columns - c, bias ? bias + piece.column + c : nullptr, epilogue);
  }

 private:
  float* sum(std::int64_t r, std::int64_t c, std::int64_t column_tiles) const {
    return sums_ + (r * column_tiles + c) * kTileSums;
  }

  float* sums_;  // (row tile, column tile)
  std::uint16_t *left_, *right_;
};

void tile_product(const TileResult& out, const std::uint16_t* a, const std::uint16_t* b,
                  const ProductShape& shape, const float* bias, Epilogue epilogue, float* scratch) {
  const Tiles tiles;
  const TileStrip strip(scratch);
  for (TilePiece piece{0, 0, 0}; piece.row < shape.m; piece = piece.next(shape)) {
    strip.add(tiles, piece, {a, b, shape});
    if (piece.is_last_of_strip(shape)) strip.finish(out, piece, shape, bias, epilogue);
  }
}

}  // namespace
}  // namespace ronde::inline v0
