// Elementwise functions of dense tensors. Strided views and the rarer functions are the oracle's.
#include <algorithm>

#include "backend/cpu/strided.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"

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
  if ((!rounds && !widens) || out.shape() != x.shape()) return WithBfloat16::copy(out, x);
  threads().parallel_for(out.count(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    if (rounds)
      kernels_.to_bfloat16(bits_of(out) + begin, x.data<float>() + begin, end - begin);
    else
      kernels_.from_bfloat16(out.data<float>() + begin, bits_of(x) + begin, end - begin);
  });
}

template <class F>
void OneDnnBackend::for_elements(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c,
                                 const F& f) {
  const std::int64_t n = out.count();
  threads().parallel_for(n, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = rows_at_a_time(end - begin, 1, 1, out, a, b, c);
    const WrittenRows to(*this, kernels_, out, n, most);
    const ReadRows from_a(*this, kernels_, a, n, most), from_b(*this, kernels_, b, n, most),
        from_c(*this, kernels_, c, n, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t count) {
      f(to.room(first), from_a(first, count), from_b(first, count), from_c(first, count), count);
      to.keep(first, count);
    });
  });
}

void OneDnnBackend::unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) {
  if (!dense_values(out, x) || !kernels_.has_unary(op)) return WithBfloat16::unary(op, out, x, params);
  for_elements(out, x, {}, {},
               [&](float* to, const float* from, const float*, const float*, std::int64_t count) {
                 kernels_.unary(op, to, from, count, static_cast<float>(params.alpha),
                                static_cast<float>(params.beta));
               });
}

void OneDnnBackend::unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                                   const Tensor& y, UnaryParams params) {
  const bool dense =
      dense_values(grad_x, grad_y) && (!x.defined() || dense_values(x)) && (!y.defined() || dense_values(y));
  if (!dense || !kernels_.has_unary_backward(op))
    return WithBfloat16::unary_backward(op, grad_x, grad_y, x, y, params);
  for_elements(grad_x, grad_y, x, y,
               [&](float* to, const float* g, const float* at_x, const float* at_y, std::int64_t count) {
                 kernels_.unary_backward(op, to, g, at_x, at_y, count, static_cast<float>(params.alpha),
                                         static_cast<float>(params.beta));
               });
}

void OneDnnBackend::binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  const bool scalar = is_stretched_scalar(b);
  if (!dense_values(out, a) || !(scalar || dense_values(b))) return WithBfloat16::binary(op, out, a, b);
  for_elements(out, a, scalar ? Tensor() : b, {},
               [&](float* to, const float* left, const float* right, const float*, std::int64_t count) {
                 if (scalar)
                   kernels_.binary_scalar(op, to, left, *b.data<float>(), count);
                 else
                   kernels_.binary(op, to, left, right, count);
               });
}

void OneDnnBackend::accumulate(const Tensor& x, const Tensor& y, double alpha) {
  if (!dense_values(x, y)) return WithBfloat16::accumulate(x, y, alpha);
  for_elements(x, x, y, {},
               [&](float* to, const float* at, const float* from, const float*, std::int64_t count) {
                 if (to != at) std::copy_n(at, count, to);
                 kernels_.accumulate(to, from, static_cast<float>(alpha), count);
               });
}

}  // namespace ronde::inline v0
