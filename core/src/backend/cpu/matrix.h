/// Row-major memory as Eigen matrices, and what follows a product.
#pragma once

#include <cstdint>

#include <Eigen/Core>

#include <ronde/core/kernel_params.h>
#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Rows may lie further apart than their length.
template <class T>
using MatrixMap = Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstMatrixMap = Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>;

/// A (rows, columns) matrix whose rows are `step` elements apart.
template <class T>
MatrixMap<T> matrix(T* data, std::int64_t rows, std::int64_t columns, std::int64_t step) {
  return {data, rows, columns, Eigen::OuterStride<>(step)};
}
template <class T>
MatrixMap<T> matrix(T* data, std::int64_t rows, std::int64_t columns) {
  return matrix(data, rows, columns, columns);
}
template <class T>
ConstMatrixMap<T> const_matrix(const T* data, std::int64_t rows, std::int64_t columns, std::int64_t step) {
  return {data, rows, columns, Eigen::OuterStride<>(step)};
}
template <class T>
ConstMatrixMap<T> const_matrix(const T* data, std::int64_t rows, std::int64_t columns) {
  return const_matrix(data, rows, columns, columns);
}

/// out = epilogue(out + bias), in place; `bias` has one element per column, or is nullptr.
template <class T, class Out>
void apply_epilogue(Out&& out, const T* bias, Epilogue epilogue) {
  if (bias) out.rowwise() += Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(bias, out.cols());
  // Not max(): a NaN has to stay one.
  if (epilogue == Epilogue::relu) out = out.unaryExpr([](T y) { return y <= 0 ? T(0) : y; });
}

template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

}  // namespace ronde::inline v0
