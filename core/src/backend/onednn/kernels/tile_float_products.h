/// Products of float matrices by tiles of bfloat16.
///
/// Note [Floats in parts]
/// A float has 24 bits, a bfloat16 8: each float is the exact sum of three. Of the nine products of two
/// floats' parts three are less than 2^-23 of the whole. The other six are exact in float, and 32 values of
/// the inner dimension are added up by themselves: errors are half of those of vectors. Tiles multiply 16
/// times as many values as vectors of floats do, so six products take less than half of the time, where each
/// value is used often enough to pay for its being split. What is infinite, or above 3.39e38, makes a NaN;
/// parts below 1.2e-38 count as 0.
///
/// There is one tile of sums at a time, and one of either operand: where another thread runs on the same
/// core, loads are the slower the more of the eight registers hold something. Blocks of two by two tiles,
/// which need half of the loads, are no faster by themselves, and take twice the time there.
#pragma once

#include "backend/onednn/kernels/tile_packing.h"
#include "backend/onednn/kernels/tile_results.h"

namespace ronde::inline v0 {
namespace {

constexpr int kPartsOfFloat = 3;
constexpr std::int64_t kPartTiles = kPartsOfFloat * kTileElements;  // one for each part, one behind the other

// 16 floats as three bfloat16 each, in the upper halves of words. The first part is rounded, so that the rest
// has either sign and what is left out does not add up.
struct FloatParts {
  static constexpr std::uint32_t kUpperHalf = 0xffff0000, kRounding = 0x8000;

  WordVector part[kPartsOfFloat];  // the lower halves of the last one are not 0 where they are denormal

  explicit FloatParts(Vector x) {
    part[0] = (reinterpret_cast<WordVector>(x) + kRounding) & kUpperHalf;
    const Vector rest = x - reinterpret_cast<Vector>(part[0]);
    part[1] = reinterpret_cast<WordVector>(rest) & kUpperHalf;
    part[2] = reinterpret_cast<WordVector>(rest - reinterpret_cast<Vector>(part[1]));
  }
};

// A row of each part's tile. Values k and k + 16 of the inner dimension are neighbours there, in both
// operands: so pairs are made without a shuffle.
[[gnu::always_inline]] inline void store_parts(std::uint16_t* row, Vector first, Vector second) {
  const FloatParts a(first), b(second);
#pragma GCC unroll 3
  for (int p = 0; p < kPartsOfFloat; ++p)
    store_pairs(row + p * kTileElements,
                reinterpret_cast<Vector>(a.part[p] >> 16 | (b.part[p] & FloatParts::kUpperHalf)));
}

// What fills a tile: two squares of 16 x 16 floats, of the inner dimension's values [0, 16) and [16, 32).
struct Squares {
  const float *first, *second;
  std::int64_t pitch;
};
inline void split_rows(std::uint16_t* tiles, Squares from) {
#pragma GCC unroll 2
  for (int r = 0; r < 16; ++r)
    store_parts(tiles + r * kTileDepth, load(from.first + r * from.pitch),
                load(from.second + r * from.pitch));
}
[[gnu::noinline]] inline void split_columns(std::uint16_t* tiles, const Squares& from) {
  Vector first[kLanes], second[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) first[r] = load(from.first + r * from.pitch);
  transpose(first);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) second[r] = load(from.second + r * from.pitch);
  transpose(second);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) store_parts(tiles + r * kTileDepth, first[r], second[r]);
}

enum class Side { left, right };

// Tiles (outer tile, inner tile, part) of an operand, whose rows are those of the outer dimension, or of the
// inner one: in a left tile the outer dimension's values are rows, in a right one columns.
template <Side side>
inline void split_operand(std::uint16_t* tiles, FloatRows from, bool rows_are_inner, std::int64_t outer,
                          std::int64_t inner) {
  float room[kTileElements];
  const auto split = [&](bool are_columns, const Squares& squares) {
    are_columns ? split_columns(tiles, squares) : split_rows(tiles, squares);
  };
  for (std::int64_t i = 0; i < outer; i += 16)
    for (std::int64_t k = 0; k < inner; k += kTileDepth, tiles += kPartTiles)
      if (rows_are_inner) {
        const FloatRows rows = filled_up<float>({from.values + k * from.pitch + i, from.pitch}, inner - k,
                                                outer - i, kTileDepth, kTileRows, room);
        split(side == Side::left, {rows.values, rows.values + 16 * rows.pitch, rows.pitch});
      } else {
        const FloatRows rows = filled_up<float>({from.values + i * from.pitch + k, from.pitch}, outer - i,
                                                inner - k, kTileRows, kTileDepth, room);
        split(side == Side::right, {rows.values, rows.values + 16, rows.pitch});
      }
}

// The sums of a tile of the result, of which `rows` rows and `columns` columns exist.
class FloatTile {
 public:
  FloatTile(const Tiles& tiles, float* out, std::int64_t pitch, std::int64_t rows, std::int64_t columns)
      : tiles_(tiles),
        out_(out),
        pitch_(pitch),
        rows_(at_most(rows, kTileRows)),
        columns_(at_most(columns, kTileColumns)) {}

  void clear() const { tiles_.clear<kSum>(); }
  void load() {
    if (is_whole()) return tiles_.load<kSum>(out_, pitch_ * 4);
    for (std::int64_t r = 0; r < rows_; ++r)
      copy_values(room_ + r * kTileColumns, out_ + r * pitch_, columns_);
    tiles_.load<kSum>(room_, kTileColumns * 4);
  }
  void store() {
    if (is_whole()) return tiles_.store<kSum>(out_, pitch_ * 4);
    tiles_.store<kSum>(room_, kTileColumns * 4);
    for (std::int64_t r = 0; r < rows_; ++r)
      copy_values(out_ + r * pitch_, room_ + r * kTileColumns, columns_);
  }
  // The six products of parts, in an order in which each needs one operand more.
  [[gnu::always_inline]] void add(const std::uint16_t* left, const std::uint16_t* right) const {
    load_operand<kRight>(right, 0);
    load_operand<kLeft>(left, 2);
    multiply();
    load_operand<kLeft>(left, 0);
    multiply();
    load_operand<kRight>(right, 2);
    multiply();
    load_operand<kRight>(right, 1);
    multiply();
    load_operand<kLeft>(left, 1);
    multiply();
    load_operand<kRight>(right, 0);
    multiply();
  }

 private:
  static constexpr int kSum = 0, kLeft = 1, kRight = 2;  // registers

  template <int tile>
  [[gnu::always_inline]] void load_operand(const std::uint16_t* parts, int part) const {
    tiles_.clear<tile>();
    tiles_.load<tile>(parts + part * kTileElements, kTileDepth * 2);
  }
  [[gnu::always_inline]] void multiply() const { tiles_.multiply<kSum, kLeft, kRight>(); }
  bool is_whole() const { return rows_ == kTileRows && columns_ == kTileColumns; }

  const Tiles& tiles_;
  float* out_;
  std::int64_t pitch_, rows_, columns_;
  alignas(64) float room_[kTileSums];
};

using FloatPiece = ProductPiece<kFloatTileRows, kFloatTileColumns, kFloatTileDepth>;

// The one with the next right operand; there is none if its column is shape.n or more.
inline FloatPiece right_behind(const FloatPiece& now, const ProductShape& s) {
  if (!now.ends_sums(s)) return {0, now.column, now.k + FloatPiece::kDepth};
  return {0, now.column + FloatPiece::kColumns, 0};
}
inline FloatPiece piece_behind(const FloatPiece& now, const ProductShape& s) {
  if (now.row + FloatPiece::kRows < s.m) return {now.row + FloatPiece::kRows, now.column, now.k};
  return right_behind(now, s);
}

// The products of a piece's operands, which are packed, and what is there but for the first ones. In each
// step `lines` are fetched.
inline void add_float_tiles(const Tiles& tiles, float* out, const std::uint16_t* left,
                            const std::uint16_t* right, const FloatPiece& piece, const ProductShape& s,
                            NextPieces& next, std::int64_t lines) {
  const std::int64_t steps = tiles_for(piece.depth(s), kTileDepth), operand = steps * kPartTiles;
  out += piece.row * s.out_pitch + piece.column;
  for (std::int64_t c = 0; c < piece.columns(s); c += kTileColumns)
    for (std::int64_t r = 0; r < piece.rows(s); r += kTileRows) {
      FloatTile sums(tiles, out + r * s.out_pitch + c, s.out_pitch, piece.rows(s) - r, piece.columns(s) - c);
      piece.k == 0 ? sums.clear() : sums.load();
      for (std::int64_t step = 0; step < steps; ++step) {
        for (std::int64_t i = 0; i < lines; ++i) next.fetch();
        sums.add(left + r / kTileRows * operand + step * kPartTiles,
                 right + c / kTileColumns * operand + step * kPartTiles);
      }
      sums.store();
    }
}

// The rows' tiles fit the first level cache, the columns' the second one. Beside the products the lines of
// the next rows are fetched, and those of the next columns beside those of all rows.
void tile_float_product(float* out, const float* a, const float* b, const ProductShape& s, float* scratch) {
  const Tiles tiles;
  const ProductOperands<float> of{a, b, s};
  auto* const left = reinterpret_cast<std::uint16_t*>(scratch);
  std::uint16_t* const right = left + kFloatTileRows * kFloatTileDepth * kPartsOfFloat;
  const std::int64_t strips = tiles_for(s.m, kFloatTileRows);
  FloatPiece piece{0, 0, 0};
  while (piece.column < s.n) {
    split_operand<Side::right>(right, of.right(piece.k, piece.column), !s.transpose_b, piece.columns(s),
                               piece.depth(s));
    const FloatPiece behind = right_behind(piece, s);
    NextPieces next;
    if (behind.column < s.n) next.right = lines_of_right(behind, of);
    const std::int64_t share = tiles_for(next.right.count(), strips);
    for (; piece.row < s.m; piece.row += FloatPiece::kRows) {
      split_operand<Side::left>(left, of.left(piece.row, piece.k), s.transpose_a, piece.rows(s),
                                piece.depth(s));
      const FloatPiece then = piece_behind(piece, s);
      if (then.column < s.n) next.left = lines_of_left(then, of);
      const std::int64_t steps = tiles_for(piece.rows(s), kTileRows) *
                                 tiles_for(piece.columns(s), kTileColumns) *
                                 tiles_for(piece.depth(s), kTileDepth);
      add_float_tiles(tiles, out, left, right, piece, s, next, tiles_for(next.left.count() + share, steps));
    }
    piece = behind;
  }
}

}  // namespace
}  // namespace ronde::inline v0
