/// Products of bfloat16 matrices by tiles, added up in float.
///
/// Strips of both operands are packed into tiles that lie one behind the other; blocks of two by two tiles of
/// sums, by tile_registers.h or tile_vectors.h, stay in registers while the inner dimension goes by. An
/// element's sum is added up in an order that depends on the inner dimension alone.
#pragma once

#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/tile_operands.h"
#include "backend/onednn/kernels/tile_pieces.h"
#include "backend/onednn/kernels/tile_results.h"

namespace ronde::inline v0 {
namespace {

// Sums of `columns` tiles side by side, in a row of which `left` are results, become these from `place` on;
// the first one is that of bias[0].
template <int columns>
inline void finish_tiles(const TileResult& out, std::int64_t place, const float* sums, std::int64_t left,
                         const float* bias, Epilogue epilogue) {
  RowResults<columns> results(left);
#pragma GCC unroll 2
  for (int c = 0; c < columns; ++c) {
    Vector y = load(sums + c * kTileSums);
    if (bias) y += load_first(bias + c * kTileColumns, left - c * kTileColumns);
    results.y[c] = epilogue == Epilogue::relu ? positive_part(y) : y;
  }
  results.write(out.floats, out.halves, place);
}

using TileProductOperands = ProductOperands<std::uint16_t>;

struct TileProductResult {
  const TileResult& out;
  const float* bias;
  Epilogue epilogue;

  // Nothing has to be done with them.
  bool are_sums() const { return !out.halves && !bias && epilogue == Epilogue::none; }
};

using TilePiece = ProductPiece<kTileStrip, kTileStripColumns, kTileStripDepth>;

// The one that comes next; behind the last one its row is shape.m or more.
inline TilePiece piece_behind(const TilePiece& now, const ProductShape& s) {
  if (!now.ends_sums(s)) return {now.row, now.column, now.k + TilePiece::kDepth};
  if (now.column + TilePiece::kColumns < s.n) return {now.row, now.column + TilePiece::kColumns, 0};
  return {now.row + TilePiece::kRows, 0, 0};
}

// The place of a block of tiles in the result.
inline TileSums tiles_of(const TileProductResult& result, const TilePiece& piece, std::int64_t row_tile,
                         std::int64_t column_tile) {
  const TileResult& out = result.out;
  return {out.floats + (piece.row + row_tile * kTileRows) * out.pitch + piece.column +
              column_tile * kTileColumns,
          kTileRows * out.pitch, kTileColumns};
}

inline NextPieces lines_behind(const TilePiece& now, const TileProductOperands& of) {
  const TilePiece next = piece_behind(now, of.shape);
  if (next.row >= of.shape.m) return {};
  NextPieces pieces;
  if (!next.has_left_of(now)) pieces.left = lines_of_left(next, of);
  if (!next.has_right_of(now)) pieces.right = lines_of_right(next, of);
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
      pack_left(left_, of.left(piece.row, piece.k), s.transpose_a, piece.rows(s), piece.depth(s));
    if (!piece.has_right_of(before))
      pack_right(right_, of.right(piece.k, piece.column), s.transpose_b, piece.columns(s), piece.depth(s));
  }

  // The products of what is packed; the last ones become results while they are in the cache.
  void multiply(const Tiles& tiles, const TilePiece& piece, const TileProductOperands& of,
                const TileProductResult& result) const {
    const ProductShape& s = of.shape;
    const std::int64_t row_tiles = tiles_for(piece.rows(s), kTileRows),
                       column_tiles = tiles_for(piece.columns(s), kTileColumns),
                       steps = tiles_for(piece.depth(s), kTileDepth), operand = steps * kTileElements;
    NextPieces next = lines_behind(piece, of);
    const std::int64_t fetches = tiles_for(row_tiles, 2) * tiles_for(column_tiles, 2) * steps * kPartsOfBlock,
                       lines = tiles_for(next.left.count() + next.right.count(), fetches);
    const bool is_last = piece.ends_sums(s);
    for_pairs(row_tiles, [&]<int block_rows>(std::int64_t r) {
      // Sums that no other piece adds to need no room of their own.
      float* sums = sums_ + (piece.k == 0 && is_last ? 0 : r * column_tiles * kTileSums);
      const bool are_results = is_last && result.are_sums() && piece.columns(s) % kTileColumns == 0 &&
                               piece.rows(s) >= (r + block_rows) * kTileRows;
      const std::int64_t pitch = are_results ? result.out.pitch : kTileColumns;
      for_pairs(column_tiles, [&]<int block_columns>(std::int64_t c) {
        const TileSums room{sums + c * kTileSums, column_tiles * kTileSums, kTileSums};
        add_block<block_rows, block_columns>(
            tiles, are_results ? tiles_of(result, piece, r, c) : room, pitch, room,
            {left_ + r * operand, right_ + c * operand, operand, operand, kTileDepth}, steps, piece.k == 0,
            next, lines);
      });
      if (is_last && !are_results)
        finish(result, sums, {piece.row + r * kTileRows, piece.column, 0},
               at_most(piece.rows(s) - r * kTileRows, block_rows * kTileRows), s);
    });
  }

 private:
  // `rows` of the strip, from the place `first` of the result on.
  void finish(const TileProductResult& result, const float* sums, const TilePiece& first, std::int64_t rows,
              const ProductShape& s) const {
    const std::int64_t columns = first.columns(s), column_tiles = tiles_for(columns, kTileColumns);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t place = (first.row + r) * result.out.pitch + first.column;
      const float* row = sums + r / kTileRows * column_tiles * kTileSums + r % kTileRows * kTileColumns;
      for (std::int64_t c = 0; c < columns; c += 2 * kTileColumns, row += 2 * kTileSums) {
        const std::int64_t left = columns - c;
        const float* bias = result.bias ? result.bias + first.column + c : nullptr;
        if (left > kTileColumns)
          finish_tiles<2>(result.out, place + c, row, left, bias, result.epilogue);
        else
          finish_tiles<1>(result.out, place + c, row, left, bias, result.epilogue);
      }
    }
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
  for (TilePiece piece{0, 0, 0}; piece.row < shape.m; before = piece, piece = piece_behind(piece, shape)) {
    strip.pack(piece, before, operands);
    strip.multiply(tiles, piece, operands, {out, bias, epilogue});
  }
}

}  // namespace
}  // namespace ronde::inline v0
