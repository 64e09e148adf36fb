/// Matrix products cut into parts for the threads.
#pragma once

#include <algorithm>

#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/norm_map.h"

namespace ronde::inline v0 {

class Backend;

/// Multiplications that a thread gets at least.
constexpr std::int64_t kProductGrain = std::int64_t{1} << 18;
/// Rows or columns that stay together; a multiple of all instruction sets' lanes.
constexpr std::int64_t kStrip = 16;
/// Of a result that the kernel keeps in registers, at most.
constexpr std::int64_t kBlockColumns = 64;

/// out (m, n) = op(a) * op(b), all row-major and dense.
struct FloatProduct {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t m, n, k;
  MatmulParams params;
  float* out;
  const float* a;
  const float* b;

  /// Rows [begin, end) of the output, or its columns.
  void run_rows(std::int64_t begin, std::int64_t end) const {
    run(end - begin, n, out + begin * n, a + (params.transpose_a ? begin : begin * k), b);
  }
  void run_columns(std::int64_t begin, std::int64_t end) const {
    run(m, end - begin, out + begin, a, b + (params.transpose_b ? begin * k : begin));
  }

 private:
  void run(std::int64_t rows, std::int64_t columns, float* c, const float* from_a, const float* from_b) const;
};

/// Runs `p` in strips of rows or columns, whichever there are more of; of as many of both in columns, as long
/// as a thread has whole blocks of them, since the right operand, all of which a thread with rows goes
/// through, is the one that is copied (MNIST's 128 x 9216 x 128: 0.92 of the time).
template <class P>
void run_parallel(ThreadPool& pool, const P& p) {
  const bool by_row = p.m > p.n || (p.m == p.n && p.n < kBlockColumns * pool.size());
  const std::int64_t length = by_row ? p.m : p.n, across = by_row ? p.n : p.m;
  const std::int64_t grain = std::max<std::int64_t>(kProductGrain / (kStrip * across * p.k), 1);
  pool.parallel_for(ceil_divide(length, kStrip), grain, [&](std::int64_t begin, std::int64_t end) {
    begin *= kStrip;
    end = std::min(end * kStrip, length);
    if (by_row)
      p.run_rows(begin, end);
    else
      p.run_columns(begin, end);
  });
}

/// A product, and what is done to its result a few rows at a time: norm(epilogue(product + bias (n))). Bias
/// and norm may be null.
struct FinishedProduct {
  const FloatProduct& product;
  const float* bias;
  Epilogue epilogue;
  const NormMap* norm = nullptr;
  std::int64_t m = product.m, n = product.n, k = product.k;

  void run_rows(std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t kRows = 10 * kProductStrip;  // as many as the kernel takes at a time
    for (; begin < end; begin += kRows) {
      const std::int64_t behind = std::min(begin + kRows, end);
      product.run_rows(begin, behind);
      finish(begin, behind, 0, n);
    }
  }
  void run_columns(std::int64_t begin, std::int64_t end) const {
    product.run_columns(begin, end);
    finish(0, m, begin, end);
  }

 private:
  void finish(std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end) const {
    float* y = product.out + row * n + column;
    if (bias || epilogue != Epilogue::none)
      product.kernels.bias_epilogue(y, bias ? bias + column : nullptr, row_end - row, column_end - column, n,
                                    epilogue);
    if (norm) (*norm)(y, row_end - row, n, column, column_end - column);
  }
};

/// out (m, n) = epilogue(op(a) * op(b) + bias (n)) of bf16 by tiles, all row-major and dense; bias may be
/// null: Note [Tiles] in tile_conv2d.cpp.
struct TileProduct {
  Backend& backend;
  const TileKernels& tiles;
  std::int64_t m, n, k;
  MatmulParams params;
  TileResult out;
  const std::uint16_t* a;
  const std::uint16_t* b;
  const float* bias = nullptr;
  Epilogue epilogue = Epilogue::none;

  void run_rows(std::int64_t begin, std::int64_t end) const {
    run(end - begin, n, begin * n, a + (params.transpose_a ? begin : begin * k), b, bias);
  }
  void run_columns(std::int64_t begin, std::int64_t end) const {
    run(m, end - begin, begin, a, b + (params.transpose_b ? begin * k : begin),
        bias ? bias + begin : nullptr);
  }

 private:
  void run(std::int64_t rows, std::int64_t columns, std::int64_t first, const std::uint16_t* from_a,
           const std::uint16_t* from_b, const float* from_bias) const;
};

/// Where a product goes that fills a dense tensor of f32 or bf16.
TileResult tile_result(const Tensor& out, std::int64_t pitch);

}  // namespace ronde::inline v0
