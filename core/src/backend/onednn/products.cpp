// Matrix products: our own kernel on one tile per thread; oneDNN's single-threaded sgemm where columns do not
// fill whole vectors or both operands are transposed. Ours are as fast where shapes are kind to oneDNN, and
// up to four times as fast where rows are a multiple of 4 KB apart, as those of a dense layer's weights often
// are.
#include <algorithm>

#include <oneapi/dnnl/dnnl.h>

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/single_threaded.h"

namespace ronde::inline v0 {

namespace {

// Multiplications that a thread gets at least.
constexpr std::int64_t kProductGrain = std::int64_t{1} << 18;
// Rows or columns that stay together; a multiple of all instruction sets' lanes.
constexpr std::int64_t kStrip = 16;
// Of a result that the kernel keeps in registers, at most.
constexpr std::int64_t kBlockColumns = 64;

// out (m, n) = op(a) * op(b), all row-major and dense.
struct Product {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t m, n, k;
  MatmulParams params;
  float* out;
  const float* a;
  const float* b;

  // Rows [begin, end) of the output, or its columns.
  void run_rows(std::int64_t begin, std::int64_t end) const {
    run(end - begin, n, out + begin * n, a + (params.transpose_a ? begin : begin * k), b);
  }
  void run_columns(std::int64_t begin, std::int64_t end) const {
    run(m, end - begin, out + begin, a, b + (params.transpose_b ? begin * k : begin));
  }

 private:
  void run(std::int64_t rows, std::int64_t columns, float* c, const float* from_a,
           const float* from_b) const {
    const std::int64_t a_pitch = params.transpose_a ? m : k, b_pitch = params.transpose_b ? k : n;
    if (n % kernels.lanes == 0 && !(params.transpose_a && params.transpose_b)) {
      const Scratch<float> scratch(backend, kProductScratch);
      return kernels.product(c, from_a, from_b,
                             {rows, columns, k, n, a_pitch, b_pitch, params.transpose_a, params.transpose_b},
                             scratch.data());
    }
    const SingleThreaded single;
    const dnnl_status_t status =
        dnnl_sgemm(params.transpose_a ? 'T' : 'N', params.transpose_b ? 'T' : 'N', rows, columns, k, 1.0f,
                   from_a, a_pitch, from_b, b_pitch, 0.0f, c, n);
    require(status == dnnl_success, "[matmul] oneDNN failed with status ", static_cast<int>(status));
  }
};

// The same of bf16 by tiles: Note [Tiles] in tile_conv2d.cpp.
struct TileProduct {
  Backend& backend;
  const TileKernels& tiles;
  std::int64_t m, n, k;
  MatmulParams params;
  const Tensor& out;  // f32 or bf16
  const std::uint16_t* a;
  const std::uint16_t* b;
  const float* bias;  // null: none
  Epilogue epilogue;

  void run_rows(std::int64_t begin, std::int64_t end) const {
    run(end - begin, n, begin * n, a + (params.transpose_a ? begin : begin * k), b, bias);
  }
  void run_columns(std::int64_t begin, std::int64_t end) const {
    run(m, end - begin, begin, a, b + (params.transpose_b ? begin * k : begin),
        bias ? bias + begin : nullptr);
  }

 private:
  TileResult result(std::int64_t first) const {
    if (out.dtype() == DType::f32) return {out.data<float>() + first, nullptr, n};
    return {nullptr, bits_of(out) + first, n};
  }
  void run(std::int64_t rows, std::int64_t columns, std::int64_t first, const std::uint16_t* from_a,
           const std::uint16_t* from_b, const float* from_bias) const {
    const Scratch<float> scratch(backend, kTileProductScratch);
    tiles.product(result(first), from_a, from_b,
                  {rows, columns, k, n, params.transpose_a ? m : k, params.transpose_b ? k : n,
                   params.transpose_a, params.transpose_b},
                  from_bias, epilogue, scratch.data());
  }
};

// Whether tiles take these; bias undefined or f32.
bool takes_tiles(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias) {
  return out.rank() == 2 && out.count() > 0 && a.count() > 0 && is_dense(a, DType::bf16) &&
         is_dense(b, DType::bf16) && (is_dense(out, DType::f32) || is_dense(out, DType::bf16)) &&
         (!bias.defined() || is_dense(bias, DType::f32));
}

// Runs `p` in strips of rows or columns, whichever there are more of; of as many of both in columns, as long
// as a thread has whole blocks of them, since the right operand, all of which a thread with rows goes
// through, is the one that is copied (MNIST's 128 x 9216 x 128: 0.92 of the time). Calls `after(rows begin,
// end, columns begin, end)` for each part while it is still in the cache.
template <class P, class F>
void run_parallel(ThreadPool& pool, const P& p, F&& after) {
  const bool by_row = p.m > p.n || (p.m == p.n && p.n < kBlockColumns * pool.size());
  const std::int64_t length = by_row ? p.m : p.n, across = by_row ? p.n : p.m;
  const std::int64_t grain = std::max<std::int64_t>(kProductGrain / (kStrip * across * p.k), 1);
  pool.parallel_for((length + kStrip - 1) / kStrip, grain, [&](std::int64_t begin, std::int64_t end) {
    begin *= kStrip;
    end = std::min(end * kStrip, length);
    if (by_row) {
      p.run_rows(begin, end);
      after(begin, end, 0, p.n);
    } else {
      p.run_columns(begin, end);
      after(0, p.m, begin, end);
    }
  });
}

}  // namespace

void OneDnnBackend::matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) {
  if (matmul_bfloat16(out, a, b, params)) return;
  const std::int64_t k = a.size(params.transpose_a ? -2 : -1), m = out.size(-2), n = out.size(-1);
  if (!dense_floats(out, a, b) || out.count() == 0 || k == 0) return WithBfloat16::matmul(out, a, b, params);
  const Product first{*this, kernels_, m, n, k, params, out.data<float>(), a.data<float>(), b.data<float>()};
  if (out.rank() == 2) return run_parallel(threads(), first, [](auto...) {});
  const std::int64_t grain = std::max<std::int64_t>(kProductGrain / (m * n * k), 1);
  threads().parallel_for(out.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      Product{
          *this, kernels_, m, n, k, params, first.out + i * m * n, first.a + i * m * k, first.b + i * k * n}
          .run_rows(0, m);
  });
}

void OneDnnBackend::dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                          Epilogue epilogue) {
  if (dense_bfloat16(out, x, weight, bias, epilogue)) return;
  if (!dense_floats(out, x, weight) || out.count() == 0 || x.count() == 0)
    return WithBfloat16::dense(out, x, weight, bias, epilogue);
  const std::int64_t m = out.size(0), n = out.size(1);
  float* y = out.data<float>();
  const float* b = floats_or_null(bias);
  const Product product{*this, kernels_, m, n, x.size(1), {}, y, x.data<float>(), weight.data<float>()};
  run_parallel(threads(), product,
               [&](std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end) {
                 if (!b && epilogue == Epilogue::none) return;
                 kernels_.bias_epilogue(y + row * n + column, b ? b + column : nullptr, row_end - row,
                                        column_end - column, n, epilogue);
               });
}

bool OneDnnBackend::matmul_bfloat16(const Tensor& out, const Tensor& a, const Tensor& b,
                                    MatmulParams params) {
  if (!kernels_.tiles || !takes_tiles(out, a, b, {})) return false;
  const TileProduct product{*this,
                            *kernels_.tiles,
                            out.size(0),
                            out.size(1),
                            a.size(params.transpose_a ? 0 : 1),
                            params,
                            out,
                            bits_of(a),
                            bits_of(b),
                            nullptr,
                            Epilogue::none};
  run_parallel(threads(), product, [](auto...) {});
  return true;
}

bool OneDnnBackend::dense_bfloat16(const Tensor& out, const Tensor& x, const Tensor& weight,
                                   const Tensor& bias, Epilogue epilogue) {
  if (!kernels_.tiles || !takes_tiles(out, x, weight, bias)) return false;
  const TileProduct product{*this,
                            *kernels_.tiles,
                            out.size(0),
                            out.size(1),
                            x.size(1),
                            {},
                            out,
                            bits_of(x),
                            bits_of(weight),
                            floats_or_null(bias),
                            epilogue};
  run_parallel(threads(), product, [](auto...) {});
  return true;
}

}  // namespace ronde::inline v0
