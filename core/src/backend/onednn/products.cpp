// Matrix products: our own kernel on one part per thread, by vectors or, of large matrices, by tiles (Note
// [Floats in parts]); oneDNN's single-threaded sgemm where many columns do not fill whole vectors. Ours are
// as fast where shapes are kind to oneDNN, and up to four times as fast where rows are a multiple of 4 KB
// apart, as those of a dense layer's weights often are.
//
// Note [Few columns]
// Two to 63 columns that do not fill whole vectors, those of ten classes, are multiplied with zeros beside
// them. That takes 0.8 to 2 times sgemm's time, a few microseconds of a step, but sgemm compiles all its
// kernels when it is first called: the first step of a net without other ragged layers comes after 27 ms of
// work in place of 54, in a process that is 7 MB smaller. And a row's result is the same bits in any batch.
// (One column, padded, takes seven to ten times as long.)
#include <algorithm>

#include <oneapi/dnnl/dnnl.h>

#include <ronde/core/error.h>

#include "backend/cpu/scratch.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/products.h"
#include "backend/onednn/single_threaded.h"

namespace ronde::inline v0 {

namespace {

// Whether tiles take these; bias undefined or f32.
bool takes_tiles(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias) {
  return out.rank() == 2 && out.count() > 0 && a.count() > 0 && is_dense(a, DType::bf16) &&
         is_dense(b, DType::bf16) && (is_dense(out, DType::f32) || is_dense(out, DType::bf16)) &&
         (!bias.defined() || is_dense(bias, DType::f32));
}

// Note [Few columns]
bool has_few_columns(std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kMostDepth = 1 << 14;  // of a right operand that is copied as a whole
  return n > 1 && n < kBlockColumns && k <= kMostDepth;
}

// Products of bf16 by tiles; false where these do not take them.
bool matmul_bfloat16(Backend& backend, const Kernels& kernels, const Tensor& out, const Tensor& a,
                     const Tensor& b, MatmulParams params) {
  if (!kernels.tiles || !takes_tiles(out, a, b, {})) return false;
  const TileProduct product{backend,
                            *kernels.tiles,
                            out.size(0),
                            out.size(1),
                            a.size(params.transpose_a ? 0 : 1),
                            params,
                            tile_result(out, out.size(1)),
                            bits_of(a),
                            bits_of(b)};
  run_parallel(backend.threads(), product);
  return true;
}

bool dense_bfloat16(Backend& backend, const Kernels& kernels, const Tensor& out, const Tensor& x,
                    const Tensor& weight, const Tensor& bias, Epilogue epilogue) {
  if (!kernels.tiles || !takes_tiles(out, x, weight, bias)) return false;
  const TileProduct product{backend,
                            *kernels.tiles,
                            out.size(0),
                            out.size(1),
                            x.size(1),
                            {},
                            tile_result(out, out.size(1)),
                            bits_of(x),
                            bits_of(weight),
                            floats_or_null(bias),
                            epilogue};
  run_parallel(backend.threads(), product);
  return true;
}

}  // namespace

void FloatProduct::run(std::int64_t rows, std::int64_t columns, float* c, const float* from_a,
                       const float* from_b) const {
  const std::int64_t a_pitch = params.transpose_a ? m : k, b_pitch = params.transpose_b ? k : n;
  const ProductShape shape{rows, columns, k, n, a_pitch, b_pitch, params.transpose_a, params.transpose_b};
  if (by_tiles || n % kernels.lanes == 0)
    return multiply(backend, kernels, by_tiles, c, from_a, from_b, shape);
  if (has_few_columns(n, k)) return run_padded(c, from_a, from_b, shape);
  const SingleThreaded single;
  const dnnl_status_t status =
      dnnl_sgemm(params.transpose_a ? 'T' : 'N', params.transpose_b ? 'T' : 'N', rows, columns, k, 1.0f,
                 from_a, a_pitch, from_b, b_pitch, 0.0f, c, n);
  require(status == dnnl_success, "[matmul] oneDNN failed with status ", static_cast<int>(status));
}

void FloatProduct::run_padded(float* c, const float* from_a, const float* from_b, ProductShape shape) const {
  const std::int64_t rows = shape.m, columns = shape.n, pitch = shape.b_pitch;
  shape.n = shape.out_pitch = ceil_divide<std::int64_t>(columns, kernels.lanes) * kernels.lanes;
  if (!shape.transpose_b) shape.b_pitch = shape.n;
  const Zeros<float> right(backend, k * shape.n);
  copy_rows(right.data(), shape.b_pitch, from_b, pitch, shape.transpose_b ? columns : k,
            shape.transpose_b ? k : columns);
  const Scratch<float> results(backend, std::min(rows, kProductRowsAtOnce) * shape.n);
  for (std::int64_t r = 0; r < rows; r += kProductRowsAtOnce) {
    shape.m = std::min(kProductRowsAtOnce, rows - r);
    multiply(backend, kernels, false, results.data(), from_a + r * (shape.transpose_a ? 1 : k), right.data(),
             shape);
    copy_rows(c + r * n, n, results.data(), shape.n, shape.m, columns);
  }
}

void TileProduct::run(std::int64_t rows, std::int64_t columns, std::int64_t first,
                      const std::uint16_t* from_a, const std::uint16_t* from_b,
                      const float* from_bias) const {
  const Scratch<float> scratch(backend, kTileProductScratch);
  const TileResult to{out.halves ? nullptr : out.floats + first, out.halves ? out.halves + first : nullptr,
                      out.pitch};
  tiles.product(to, from_a, from_b,
                {rows, columns, k, out.pitch, params.transpose_a ? m : k, params.transpose_b ? k : n,
                 params.transpose_a, params.transpose_b},
                from_bias, epilogue, scratch.data());
}

TileResult tile_result(const Tensor& out, std::int64_t pitch) {
  if (out.dtype() == DType::f32) return {out.data<float>(), nullptr, pitch};
  return {nullptr, bits_of(out), pitch};
}

void OneDnnBackend::matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) {
  if (matmul_bfloat16(*this, kernels_, out, a, b, params)) return;
  const std::int64_t k = a.size(params.transpose_a ? -2 : -1), m = out.size(-2), n = out.size(-1);
  if (!dense_floats(out, a, b) || out.count() == 0 || k == 0) return WithBfloat16::matmul(out, a, b, params);
  const bool is_shared = out.rank() == 2;  // otherwise threads share the matrices
  const FloatProduct first{
      *this,
      kernels_,
      m,
      n,
      k,
      params,
      out.data<float>(),
      a.data<float>(),
      b.data<float>(),
      is_shared ? pays_in_tiles(threads(), kernels_, m, n, k) : pays_in_tiles(kernels_, m, n, k)};
  if (is_shared) return run_parallel(threads(), first);
  const std::int64_t grain = std::max<std::int64_t>(kProductGrain / (m * n * k), 1);
  threads().parallel_for(out.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      FloatProduct product = first;
      product.out += i * m * n;
      product.a += i * m * k;
      product.b += i * k * n;
      product.run_rows(0, m);
    }
  });
}

void OneDnnBackend::dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                          Epilogue epilogue) {
  if (dense_bfloat16(*this, kernels_, out, x, weight, bias, epilogue)) return;
  if (!dense_floats(out, x, weight) || out.count() == 0 || x.count() == 0)
    return WithBfloat16::dense(out, x, weight, bias, epilogue);
  const std::int64_t m = out.size(0), n = out.size(1), k = x.size(1);
  const FloatProduct product{*this,
                             kernels_,
                             m,
                             n,
                             k,
                             {},
                             out.data<float>(),
                             x.data<float>(),
                             weight.data<float>(),
                             pays_in_tiles(threads(), kernels_, m, n, k)};
  run_parallel(threads(), FinishedProduct{product, floats_or_null(bias), epilogue});
}

}  // namespace ronde::inline v0
