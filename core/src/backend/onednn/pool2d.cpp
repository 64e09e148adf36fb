// Pooling, one image at a time; the threads share the images.
#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/pool_shape.h"

namespace ronde::inline v0 {

void OneDnnBackend::max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                               const Pool2dParams& params) {
  if (!dense_values(out, x) || !is_byte_index(argmax))
    return WithBfloat16::max_pool2d(out, argmax, x, params);
  const PoolShape s = pool_shape(x.shape(), out.shape(), params);
  auto* index = argmax.data<std::uint8_t>();
  for_rows(*this, kernels_, out, x, [&](float* to, const float* from, std::int64_t image) {
    if (!is_bfloat16(x)) kernels_.fetch(from, s.h * s.w * s.c);
    kernels_.max_pool(to, index + image * s.oh * s.ow * s.c, from, s);
  });
}

void OneDnnBackend::max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                                        const Pool2dParams& params) {
  if (!dense_values(grad_x, grad_out) || !is_byte_index(argmax))
    return WithBfloat16::max_pool2d_backward(grad_x, grad_out, argmax, params);
  const PoolShape s = pool_shape(grad_x.shape(), grad_out.shape(), params);
  const auto* index = argmax.data<std::uint8_t>();
  for_rows(*this, kernels_, grad_x, grad_out, [&](float* to, const float* from, std::int64_t image) {
    kernels_.max_pool_backward(to, from, index + image * s.oh * s.ow * s.c, s, {});
  });
}

void OneDnnBackend::average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) {
  if (!dense_values(out, x)) return WithBfloat16::average_pool2d(out, x, params);
  const PoolShape s = pool_shape(x.shape(), out.shape(), params);
  for_rows(*this, kernels_, out, x,
           [&](float* to, const float* from, std::int64_t) { kernels_.average_pool(to, from, s); });
}

void OneDnnBackend::average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                                            const Pool2dParams& params) {
  if (!dense_values(grad_x, grad_out)) return WithBfloat16::average_pool2d_backward(grad_x, grad_out, params);
  const PoolShape s = pool_shape(grad_x.shape(), grad_out.shape(), params);
  for_rows(*this, kernels_, grad_x, grad_out,
           [&](float* to, const float* from, std::int64_t) { kernels_.average_pool_backward(to, from, s); });
}

}  // namespace ronde::inline v0
