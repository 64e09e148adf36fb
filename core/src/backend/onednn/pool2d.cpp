// Pooling, one image at a time; the threads share the images.
#include "backend/onednn/backend.h"
#include "backend/onednn/pool_shape.h"

namespace ronde::inline v0 {

namespace {

// Calls `f(first element of the image in x, in out)` for all images.
template <class F>
void for_each_image(ThreadPool& pool, const Tensor& x, const PoolShape& s, F&& f) {
  const std::int64_t from = s.h * s.w * s.c, to = s.oh * s.ow * s.c;
  pool.parallel_for(x.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i * from, i * to);
  });
}

}  // namespace

void OneDnnBackend::max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                               const Pool2dParams& params) {
  if (!dense_floats(out, x) || !is_byte_index(argmax))
    return WithBfloat16::max_pool2d(out, argmax, x, params);
  const PoolShape s = pool_shape(x.shape(), out.shape(), params);
  float* to = out.data<float>();
  auto* index = argmax.data<std::uint8_t>();
  const float* from = x.data<float>();
  for_each_image(threads(), x, s, [&](std::int64_t in, std::int64_t at) {
    kernels_.fetch(from + in, s.h * s.w * s.c);
    kernels_.max_pool(to + at, index + at, from + in, s);
  });
}

void OneDnnBackend::max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                                        const Pool2dParams& params) {
  if (windows_overlap(params) || !dense_floats(grad_x, grad_out) || !is_byte_index(argmax))
    return WithBfloat16::max_pool2d_backward(grad_x, grad_out, argmax, params);
  const PoolShape s = pool_shape(grad_x.shape(), grad_out.shape(), params);
  float* to = grad_x.data<float>();
  const float* from = grad_out.data<float>();
  const auto* index = argmax.data<std::uint8_t>();
  for_each_image(threads(), grad_x, s, [&](std::int64_t in, std::int64_t at) {
    kernels_.max_pool_backward(to + in, from + at, index + at, s, {});
  });
}

void OneDnnBackend::average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) {
  if (!dense_floats(out, x)) return WithBfloat16::average_pool2d(out, x, params);
  const PoolShape s = pool_shape(x.shape(), out.shape(), params);
  float* to = out.data<float>();
  const float* from = x.data<float>();
  for_each_image(threads(), x, s,
                 [&](std::int64_t in, std::int64_t at) { kernels_.average_pool(to + at, from + in, s); });
}

void OneDnnBackend::average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                                            const Pool2dParams& params) {
  if (!dense_floats(grad_x, grad_out)) return WithBfloat16::average_pool2d_backward(grad_x, grad_out, params);
  const PoolShape s = pool_shape(grad_x.shape(), grad_out.shape(), params);
  float* to = grad_x.data<float>();
  const float* from = grad_out.data<float>();
  for_each_image(threads(), grad_x, s, [&](std::int64_t in, std::int64_t at) {
    kernels_.average_pool_backward(to + in, from + at, s);
  });
}

}  // namespace ronde::inline v0
