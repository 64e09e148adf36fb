// Products of matrices, by Eigen. The output is cut into tiles of a fixed size, each one product of its own,
// so that the result does not depend on the number of threads.
#include <algorithm>

#include <ronde/core/whole_numbers.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/matrix_product.h"
#include "backend/cpu/scratch.h"

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kTile = 64;

struct Tile {
  std::int64_t batch, row, column, rows, columns;
};

// Calls `f(tile)` for all tiles of `batches` matrices of (m, n), split over `pool`.
template <class F>
void for_each_tile(ThreadPool& pool, std::int64_t batches, std::int64_t m, std::int64_t n, F&& f) {
  const std::int64_t down = ceil_divide(m, kTile), across = ceil_divide(n, kTile);
  pool.parallel_for(batches * down * across, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / across % down * kTile, column = i % across * kTile;
      f(Tile{i / (down * across), row, column, std::min(kTile, m - row), std::min(kTile, n - column)});
    }
  });
}

template <class T>
ConstMatrixMap<T> nth(const Tensor& x, std::int64_t i) {
  return const_matrix<T>(x.data<T>() + i * x.size(-2) * x.size(-1), x.size(-2), x.size(-1));
}

template <class T>
ConstMatrixMap<T> rows_of(ConstMatrixMap<T> x, std::int64_t begin, std::int64_t count) {
  return const_matrix<T>(x.data() + begin * x.outerStride(), count, x.cols(), x.outerStride());
}

template <class T>
ConstMatrixMap<T> columns_of(ConstMatrixMap<T> x, std::int64_t begin, std::int64_t count) {
  return const_matrix<T>(x.data() + begin, x.rows(), count, x.outerStride());
}

// One tile of op(a) * op(b). What is transposed is turned before.
template <class T>
void multiply(Backend& backend, MatrixMap<T> out, const Tile& t, ConstMatrixMap<T> a, ConstMatrixMap<T> b,
              MatmulParams params) {
  const Scratch<T> turned_a(backend, params.transpose_a ? a.rows() * t.rows : 0);
  const Scratch<T> turned_b(backend, params.transpose_b ? b.cols() * t.columns : 0);
  set_product<T>(
      matrix(out.data() + t.row * out.outerStride() + t.column, t.rows, t.columns, out.outerStride()),
      params.transpose_a ? transposed(columns_of(a, t.row, t.rows), turned_a.data())
                         : rows_of(a, t.row, t.rows),
      params.transpose_b ? transposed(rows_of(b, t.column, t.columns), turned_b.data())
                         : columns_of(b, t.column, t.columns));
}

}  // namespace

void CpuBackend::matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) {
  const std::int64_t batches = out.rank() == 3 ? out.size(0) : 1;
  const std::int64_t m = out.size(-2), n = out.size(-1);
  visit_real(out.dtype(), "matmul", [&]<class T>(T) {
    for_each_tile(threads_, batches, m, n, [&](const Tile& tile) {
      multiply<T>(*this, matrix(out.data<T>() + tile.batch * m * n, m, n), tile, nth<T>(a, tile.batch),
                  nth<T>(b, tile.batch), params);
    });
  });
}

void CpuBackend::dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                       Epilogue epilogue) {
  const std::int64_t n = x.size(0), units = weight.size(1);
  visit_real(out.dtype(), "dense", [&]<class T>(T) {
    const T* b = data_or_null<T>(bias);
    for_each_tile(threads_, 1, n, units, [&](const Tile& tile) {
      MatrixMap<T> y = matrix(out.data<T>(), n, units);
      multiply<T>(*this, y, tile, nth<T>(x, 0), nth<T>(weight, 0), {});
      apply_epilogue<T>(y.block(tile.row, tile.column, tile.rows, tile.columns),
                        b ? b + tile.column : nullptr, epilogue);
    });
  });
}

}  // namespace ronde::inline v0
