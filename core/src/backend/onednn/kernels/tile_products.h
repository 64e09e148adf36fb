/// Products of bfloat16 matrices by tiles, added up in float.
///
/// Strips of both operands are packed into tiles that lie one behind the other; two by two tiles of sums stay
/// in registers while the inner dimension goes by. An element's sum is added up in an order that depends on
/// the inner dimension alone.
#pragma once

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/kernels/tile_packing.h"

namespace ronde::inline v0 {
namespace {

constexpr int kFirstLeft = 4, kFirstRight = 6;  // registers; those before them hold sums

/// Calls f(row, column) for rows x columns of tiles.
template <int rows, int columns, class F>
[[gnu::always_inline]] inline void for_tiles(const F& f) {
  f.template operator()<0, 0>();
  if constexpr (columns == 2) f.template operator()<0, 1>();
  if constexpr (rows == 2) f.template operator()<1, 0>();
  if constexpr (rows == 2 && columns == 2) f.template operator()<1, 1>();
}

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

template <int rows, int columns>
inline void load_sums(const Tiles& tiles, const TileSums& sums) {
  for_tiles<rows, columns>(
      [&]<int r, int c>() { tiles.template load<2 * r + c>(sums.at(r, c), kTileColumns * 4); });
}
template <int rows, int columns>
inline void clear_sums(const Tiles& tiles) {
  for_tiles<rows, columns>([&]<int r, int c>() { tiles.template clear<2 * r + c>(); });
}
template <int rows, int columns>
inline void store_sums(const Tiles& tiles, const TileSums& sums) {
  for_tiles<rows, columns>(
      [&]<int r, int c>() { tiles.template store<2 * r + c>(sums.at(r, c), kTileColumns * 4); });
}

/// Where the operands' tiles of one step are.
struct TileOperands {
  const std::uint16_t *left, *right;
  std::int64_t left_tile, right_tile;  // elements from the first tile to the second
  std::int64_t left_pitch;             // elements from one row to the next; a right tile's rows are dense
};

template <int rows, int columns>
[[gnu::always_inline]] inline void add_products(const Tiles& tiles, const TileOperands& from) {
  tiles.template load<kFirstLeft>(from.left, from.left_pitch * 2);
  tiles.template load<kFirstRight>(from.right, kTileDepth * 2);
  if constexpr (columns == 2)
    tiles.template load<kFirstRight + 1>(from.right + from.right_tile, kTileDepth * 2);
  if constexpr (rows == 2)
    tiles.template load<kFirstLeft + 1>(from.left + from.left_tile, from.left_pitch * 2);
  for_tiles<rows, columns>(
      [&]<int r, int c>() { tiles.template multiply<2 * r + c, kFirstLeft + r, kFirstRight + c>(); });
}

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

// One strip of rows and columns of the result.
class TileStrip {
 public:
  TileStrip(const ProductShape& shape, std::int64_t row, std::int64_t column, float* scratch)
      : shape_(shape),
        row_(row),
        column_(column),
        rows_(at_most(shape.m - row, kTileStrip)),
        columns_(at_most(shape.n - column, kTileStripColumns)),
        sums_(scratch),
        left_(reinterpret_cast<std::uint16_t*>(scratch + kTileStrip * kTileStripColumns)),
        right_(left_ + kTileStrip * kTileStripDepth) {}

  void add(const Tiles& tiles, const std::uint16_t* a, const std::uint16_t* b, std::int64_t k) const {
    const ProductShape& s = shape_;
    const std::int64_t depth = at_most(s.k - k, kTileStripDepth), depth_tiles = tiles_for(depth, kTileDepth);
    pack_left(left_, {a + (s.transpose_a ? k * s.a_pitch + row_ : row_ * s.a_pitch + k), s.a_pitch},
              s.transpose_a, rows_, depth);
    pack_right(right_, {b + (s.transpose_b ? column_ * s.b_pitch + k : k * s.b_pitch + column_), s.b_pitch},
               s.transpose_b, columns_, depth);
    const std::int64_t operand = depth_tiles * kTileElements;
    for_pairs(column_tiles(), [&]<int columns>(std::int64_t c) {
      for_pairs(tiles_for(rows_, kTileRows), [&]<int rows>(std::int64_t r) {
        const TileSums sums{sum(r, c), column_tiles() * kTileSums, kTileSums};
        if (k == 0)
          clear_sums<rows, columns>(tiles);
        else
          load_sums<rows, columns>(tiles, sums);
        TileOperands from{left_ + r * operand, right_ + c * operand, operand, operand, kTileDepth};
        for (std::int64_t t = 0; t < depth_tiles; ++t) {
          add_products<rows, columns>(tiles, from);
          from.left += kTileElements;
          from.right += kTileElements;
        }
        store_sums<rows, columns>(tiles, sums);
      });
    });
  }

  void finish(const TileResult& out, const float* bias, Epilogue epilogue) const {
    for (std::int64_t r = 0; r < rows_; ++r)
      for (std::int64_t c = 0; c < columns_; c += kTileColumns)
        finish_row(out, (row_ + r) * out.pitch + column_ + c,
                   sum(r / kTileRows, c / kTileColumns) + r % kTileRows * kTileColumns, columns_ - c,
                   bias ? bias + column_ + c : nullptr, epilogue);
  }

 private:
  std::int64_t column_tiles() const { return tiles_for(columns_, kTileColumns); }
  float* sum(std::int64_t r, std::int64_t c) const { return sums_ + (r * column_tiles() + c) * kTileSums; }

  const ProductShape& shape_;
  std::int64_t row_, column_, rows_, columns_;
  float* sums_;  // (row tile, column tile)
  std::uint16_t *left_, *right_;
};

void tile_product(const TileResult& out, const std::uint16_t* a, const std::uint16_t* b,
                  const ProductShape& shape, const float* bias, Epilogue epilogue, float* scratch) {
  const Tiles tiles;
  for (std::int64_t r = 0; r < shape.m; r += kTileStrip)
    for (std::int64_t c = 0; c < shape.n; c += kTileStripColumns) {
      const TileStrip strip(shape, r, c, scratch);
      for (std::int64_t k = 0; k < shape.k; k += kTileStripDepth) strip.add(tiles, a, b, k);
      strip.finish(out, bias, epilogue);
    }
}

}  // namespace
}  // namespace ronde::inline v0
