// Products of matrices, by Eigen. The output is cut into tiles of a fixed size, each one product of its own,
// so that the result does not depend on the number of threads.
#include <algorithm>

#include <ronde/core/whole_numbers.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/matrix.h"

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

// One tile of op(a) * op(b).
template <class T>
void multiply(MatrixMap<T> out, const Tile& t, MatrixMap<T> a, MatrixMap<T> b, MatmulParams params) {
  auto y = out.block(t.row, t.column, t.rows, t.columns);
  if (params.transpose_a && params.transpose_b)
    y.noalias() = a.middleCols(t.row, t.rows).transpose() * b.middleRows(t.column, t.columns).transpose();
  else if (params.transpose_a)
    y.noalias() = a.middleCols(t.row, t.rows).transpose() * b.middleCols(t.column, t.columns);
  else if (params.transpose_b)
    y.noalias() = a.middleRows(t.row, t.rows) * b.middleRows(t.column, t.columns).transpose();
  else
    y.noalias() = a.middleRows(t.row, t.rows) * b.middleCols(t.column, t.columns);
}

}  // namespace

void CpuBackend::matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) {
  const std::int64_t batches = out.rank() == 3 ? out.size(0) : 1;
  const std::int64_t m = out.size(-2), n = out.size(-1);
  visit_real(out.dtype(), "matmul", [&]<class T>(T) {
    const auto nth = [](const Tensor& x, std::int64_t i) {
      return matrix(x.data<T>() + i * x.size(-2) * x.size(-1), x.size(-2), x.size(-1));
    };
    for_each_tile(threads_, batches, m, n, [&](const Tile& tile) {
      multiply<T>(nth(out, tile.batch), tile, nth(a, tile.batch), nth(b, tile.batch), params);
    });
  });
}

void CpuBackend::dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                       Epilogue epilogue) {
  const std::int64_t n = x.size(0), in = x.size(1), units = weight.size(1);
  visit_real(out.dtype(), "dense", [&]<class T>(T) {
    const T* b = data_or_null<T>(bias);
    for_each_tile(threads_, 1, n, units, [&](const Tile& tile) {
      MatrixMap<T> y = matrix(out.data<T>(), n, units);
      multiply<T>(y, tile, matrix(x.data<T>(), n, in), matrix(weight.data<T>(), in, units), {});
      apply_epilogue<T>(y.block(tile.row, tile.column, tile.rows, tile.columns),
                        b ? b + tile.column : nullptr, epilogue);
    });
  });
}

}  // namespace ronde::inline v0
