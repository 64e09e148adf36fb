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

/// Of `rows` x `columns` of an operand, which may lie transposed.
template <class T>
inline Lines lines_of(RowsOf<T> from, bool is_transposed, std::int64_t rows, std::int64_t columns) {
  return is_transposed ? Lines(from.values, from.pitch, columns, rows)
                       : Lines(from.values, from.pitch, rows, columns);
}

}  // namespace
}  // namespace ronde::inline v0
