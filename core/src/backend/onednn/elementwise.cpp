// Elementwise functions of dense tensors. Strided views and the rarer functions are CpuBackend's.
#include "backend/cpu/strided.h"
#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

namespace {

// Whether x is one value stretched over its shape.
bool is_stretched_scalar(const Tensor& x) {
  if (x.dtype() != DType::f32 || x.count() == 0) return false;
  for (int i = 0; i < x.rank(); ++i)
    if (x.size(i) != 1 && x.strides()[i] != 0) return false;
  return true;
}

}  // namespace

void OneDnnBackend::copy(const Tensor& out, const Tensor& x) {
  const bool rounds = is_dense(out, DType::bf16) && is_dense(x, DType::f32),
             widens = is_dense(out, DType::f32) && is_dense(x, DType::bf16);
  if ((!rounds && !widens) || out.shape() != x.shape()) return CpuBackend::copy(out, x);
  threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    if (rounds)
      kernels_.to_bfloat16(bits_of(out) + begin, x.data<float>() + begin, end - begin);
    else
      kernels_.from_bfloat16(out.data<float>() + begin, bits_of(x) + begin, end - begin);
  });
}

void OneDnnBackend::unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) {
  if (!dense_floats(out, x) || !kernels_.has_unary(op)) return CpuBackend::unary(op, out, x, params);
  float* to = out.data<float>();
  const float* from = x.data<float>();
  threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels_.unary(op, to + begin, from + begin, end - begin, static_cast<float>(params.alpha),
                   static_cast<float>(params.beta));
  });
}

void OneDnnBackend::unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                                   const Tensor& y, UnaryParams params) {
  const bool dense =
      dense_floats(grad_x, grad_y) && (!x.defined() || dense_floats(x)) && (!y.defined() || dense_floats(y));
  if (!dense || !kernels_.has_unary_backward(op))
    return CpuBackend::unary_backward(op, grad_x, grad_y, x, y, params);
  float* to = grad_x.data<float>();
  const float *g = grad_y.data<float>(), *at_x = floats_or_null(x), *at_y = floats_or_null(y);
  threads().parallel_for(grad_x.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels_.unary_backward(op, to + begin, g + begin, at_x ? at_x + begin : nullptr,
                            at_y ? at_y + begin : nullptr, end - begin, static_cast<float>(params.alpha),
                            static_cast<float>(params.beta));
  });
}

void OneDnnBackend::binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  const bool scalar = is_stretched_scalar(b);
  if (!dense_floats(out, a) || !(scalar || dense_floats(b))) return CpuBackend::binary(op, out, a, b);
  float* to = out.data<float>();
  const float *left = a.data<float>(), *right = b.data<float>();
  threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    if (scalar)
      kernels_.binary_scalar(op, to + begin, left + begin, *right, end - begin);
    else
      kernels_.binary(op, to + begin, left + begin, right + begin, end - begin);
  });
}

void OneDnnBackend::accumulate(const Tensor& x, const Tensor& y, double alpha) {
  if (!dense_floats(x, y)) return CpuBackend::accumulate(x, y, alpha);
  float* to = x.data<float>();
  const float* from = y.data<float>();
  threads().parallel_for(x.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels_.accumulate(to + begin, from + begin, static_cast<float>(alpha), end - begin);
  });
}

}  // namespace ronde::inline v0
