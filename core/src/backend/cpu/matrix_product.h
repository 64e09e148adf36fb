/// Products of matrices by Eigen, in the one form that each dtype has: each other one would be 20 KB.
#pragma once

#include "backend/cpu/matrix.h"

namespace ronde::inline v0 {

/// out = a * b
template <class T>
void set_product(MatrixMap<T> out, ConstMatrixMap<T> a, ConstMatrixMap<T> b);
/// out += a * b
template <class T>
void add_product(MatrixMap<T> out, ConstMatrixMap<T> a, ConstMatrixMap<T> b);

/// The transpose, in memory of as many elements.
template <class T>
ConstMatrixMap<T> transposed(ConstMatrixMap<T> x, T* memory) {
  MatrixMap<T> result = matrix(memory, x.cols(), x.rows());
  result = x.transpose();
  return const_matrix<T>(memory, x.cols(), x.rows());
}

}  // namespace ronde::inline v0
