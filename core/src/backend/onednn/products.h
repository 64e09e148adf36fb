/// Matrix products cut into parts for the threads.
#pragma once

#include <algorithm>

#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>

#include "backend/cpu/scratch.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/norm_map.h"

namespace ronde::inline v0 {

/// Multiplications that a thread gets at least.
constexpr std::int64_t kProductGrain = std::int64_t{1} << 18;
/// Rows or columns that stay together; a multiple of all instruction sets' lanes.
constexpr std::int64_t kStrip = 16;
/// Of a result that the kernel keeps in registers, at most.
constexpr std::int64_t kBlockColumns = 64;

/// Whether tiles take a (k, n) right operand of floats: Note [Floats in parts] in
/// kernels/tile_float_products.h. Few columns that fill no tile are left to vectors.
inline bool fits_tiles(const Kernels& kernels, std::int64_t n, std::int64_t k) {
  return kernels.tiles && kernels.tiles->float_product && (n % kTileColumns == 0 || n > kBlockColumns) &&
         k >= kTileDepth;
}

/// Whether (m, n) results pay for splitting their operands for tiles: a value of the left operand is split
/// once and used n times, one of the right operand m times. Measured where nothing else runs on the core: 16
/// rows and columns make 0.9 of the vectors' speed, 32 1.0, 48 1.2, 64 1.1 to 1.3, more of them 1.4 to 2.2;
/// an inner dimension of 32 no less, but where results are too large for the caches: 0.9.
inline bool pays_to_split(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kLeastUse = 24;
  return m * n >= kLeastUse * (m + n);
}

/// Whether tiles multiply an (m, k) by a (k, n) matrix of floats faster than vectors do.
inline bool pays_in_tiles(const Kernels& kernels, std::int64_t m, std::int64_t n, std::int64_t k) {
  return fits_tiles(kernels, n, k) && pays_to_split(m, n);
}

/// to (rows, columns) = from; pitches given.
inline void copy_rows(float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch,
                      std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_pitch, columns, to + r * to_pitch);
}

/// One thread's product of floats.
inline void multiply(Backend& backend, const Kernels& kernels, bool by_tiles, float* out, const float* a,
                     const float* b, const ProductShape& shape) {
  const Scratch<float> scratch(backend, by_tiles ? kFloatTileScratch : kProductScratch);
  (by_tiles ? kernels.tiles->float_product : kernels.product)(out, a, b, shape, scratch.data());
}

/// How threads share a result (m, n): strips of its rows or its columns, whichever there are more of; of as
/// many of both its columns, as long as a thread has whole blocks of them, since the right operand, all of
/// which a thread with rows goes through, is the one that is copied (MNIST's 128 x 9216 x 128: 0.92 of the
/// time).
struct ProductShares {
  bool by_row;
  std::int64_t length;         ///< rows, or columns
  std::int64_t strips, grain;  ///< of them; a thread's least

  ProductShares(const ThreadPool& pool, std::int64_t m, std::int64_t n, std::int64_t k)
      : by_row(m > n || (m == n && n < kBlockColumns * pool.chunks(n, 1))),
        length(by_row ? m : n),
        strips(ceil_divide(length, kStrip)),
        grain(std::max<std::int64_t>(kProductGrain / (kStrip * (by_row ? n : m) * k), 1)) {}
};

/// Whether tiles make a thread's share of such a result faster.
inline bool pays_in_tiles(const ThreadPool& pool, const Kernels& kernels, std::int64_t m, std::int64_t n,
                          std::int64_t k) {
  const ProductShares shares(pool, m, n, k);
  const std::int64_t part =
      ceil_divide<std::int64_t>(shares.strips, pool.chunks(shares.strips, shares.grain)) * kStrip;
  return fits_tiles(kernels, n, k) && (shares.by_row ? pays_to_split(part, n) : pays_to_split(m, part));
}

/// out (m, n) = op(a) * op(b), all row-major and dense.
struct FloatProduct {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t m, n, k;
  MatmulParams params;
  float* out;
  const float* a;
  const float* b;
  bool by_tiles = false;

  /// Rows [begin, end) of the output, or its columns.
  void run_rows(std::int64_t begin, std::int64_t end) const {
    run(end - begin, n, out + begin * n, a + (params.transpose_a ? begin : begin * k), b);
  }
  void run_columns(std::int64_t begin, std::int64_t end) const {
    run(m, end - begin, out + begin, a, b + (params.transpose_b ? begin * k : begin));
  }

 private:
  void run(std::int64_t rows, std::int64_t columns, float* c, const float* from_a, const float* from_b) const;
  void run_padded(float* c, const float* from_a, const float* from_b, ProductShape shape) const;
};

/// Runs `p` in strips of rows or columns.
template <class P>
void run_parallel(ThreadPool& pool, const P& p) {
  const ProductShares shares(pool, p.m, p.n, p.k);
  pool.parallel_for(shares.strips, shares.grain, [&](std::int64_t begin, std::int64_t end) {
    begin *= kStrip;
    end = std::min(end * kStrip, shares.length);
    if (shares.by_row)
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
    for (; begin < end; begin += kProductRowsAtOnce) {
      const std::int64_t behind = std::min(begin + kProductRowsAtOnce, end);
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
