/// Where pieces of a product's operands lie.
#pragma once

#include "backend/onednn/kernels/fetch_lines.h"
#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {
namespace {

/// A matrix in memory; elements from one row to the next.
template <class T>
struct RowsOf {
  const T* values;
  std::int64_t pitch;
};
using HalfRows = RowsOf<std::uint16_t>;
using FloatRows = RowsOf<float>;

/// Both operands of a product.
template <class T>
struct ProductOperands {
  const T *a, *b;
  const ProductShape& shape;

  /// From a row and a value of the inner dimension on, as they lie in memory, which may be transposed.
  RowsOf<T> left(std::int64_t row, std::int64_t k) const {
    const std::int64_t pitch = shape.a_pitch;
    return {a + (shape.transpose_a ? k * pitch + row : row * pitch + k), pitch};
  }
  RowsOf<T> right(std::int64_t k, std::int64_t column) const {
    const std::int64_t pitch = shape.b_pitch;
    return {b + (shape.transpose_b ? column * pitch + k : k * pitch + column), pitch};
  }
};

inline std::int64_t at_most(std::int64_t n, std::int64_t most) {
  return n < most ? n : most;
}

/// What is multiplied at a time: rows of a and columns of b, from these on, and a part of the inner
/// dimension.
template <std::int64_t most_rows, std::int64_t most_columns, std::int64_t most_depth>
struct ProductPiece {
  static constexpr std::int64_t kRows = most_rows, kColumns = most_columns, kDepth = most_depth;

  std::int64_t row, column, k;

  std::int64_t rows(const ProductShape& s) const { return at_most(s.m - row, kRows); }
  std::int64_t columns(const ProductShape& s) const { return at_most(s.n - column, kColumns); }
  std::int64_t depth(const ProductShape& s) const { return at_most(s.k - k, kDepth); }
  bool ends_sums(const ProductShape& s) const { return k + kDepth >= s.k; }
  bool has_left_of(const ProductPiece& other) const { return row == other.row && k == other.k; }
  bool has_right_of(const ProductPiece& other) const { return column == other.column && k == other.k; }
};

template <class T>
inline Lines lines_of(RowsOf<T> from, bool is_transposed, std::int64_t rows, std::int64_t columns) {
  return is_transposed ? Lines(from.values, from.pitch, columns, rows)
                       : Lines(from.values, from.pitch, rows, columns);
}
template <class Piece, class T>
inline Lines lines_of_left(const Piece& p, const ProductOperands<T>& of) {
  return lines_of(of.left(p.row, p.k), of.shape.transpose_a, p.rows(of.shape), p.depth(of.shape));
}
template <class Piece, class T>
inline Lines lines_of_right(const Piece& p, const ProductOperands<T>& of) {
  return lines_of(of.right(p.k, p.column), of.shape.transpose_b, p.depth(of.shape), p.columns(of.shape));
}

}  // namespace
}  // namespace ronde::inline v0
