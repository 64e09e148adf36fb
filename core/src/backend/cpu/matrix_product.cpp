#include "backend/cpu/matrix_product.h"

namespace ronde::inline v0 {

template <class T>
void set_product(MatrixMap<T> out, ConstMatrixMap<T> a, ConstMatrixMap<T> b) {
  out.setZero();
  add_product(out, a, b);
}

template <class T>
void add_product(MatrixMap<T> out, ConstMatrixMap<T> a, ConstMatrixMap<T> b) {
  out.noalias() += a * b;
}

template void set_product(MatrixMap<float>, ConstMatrixMap<float>, ConstMatrixMap<float>);
template void set_product(MatrixMap<double>, ConstMatrixMap<double>, ConstMatrixMap<double>);
template void add_product(MatrixMap<float>, ConstMatrixMap<float>, ConstMatrixMap<float>);
template void add_product(MatrixMap<double>, ConstMatrixMap<double>, ConstMatrixMap<double>);

}  // namespace ronde::inline v0
