// CudaBackend's kernels of images: convolutions and pooling.
#include "backend/cpu/conv_shape.h"
#include "cuda/cuda_backend.h"

namespace ronde::inline v0::cuda {

namespace {

/// Images that begin where cuDNN and our tiles read: at a multiple of 16 bytes, as all but views do.
Tensor at_pack(const Tensor& images) {
  constexpr std::uintptr_t kPack = 16;
  const bool is_there = images.count() == 0 || reinterpret_cast<std::uintptr_t>(images.raw()) % kPack == 0;
  return is_there ? images : images.clone();
}

}  // namespace

void CudaBackend::conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Conv2dParams& params, Epilogue epilogue) {
  const Tensor images = at_pack(x);
  enqueue(Op::conv2d, 1, {&out, &images, &weight, &bias}, {.epilogue = epilogue, .conv = params});
}

void CudaBackend::conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                                        const Conv2dParams& params) {
  const Tensor gradient = at_pack(grad_out);
  enqueue(Op::conv2d_backward_input, 1, {&grad_x, &gradient, &weight}, {.conv = params});
}

void CudaBackend::conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                         const Tensor& grad_out, const Tensor& x,
                                         const Conv2dParams& params) {
  const Tensor gradient = at_pack(grad_out), images = at_pack(x);
  enqueue(Op::conv2d_backward_weight, 2, {&grad_weight, &grad_bias, &gradient, &images}, {.conv = params});
}

void CudaBackend::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                    const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                    Epilogue epilogue, const Pool2dParams& pool) {
  Backend::conv2d_max_pool2d(out, argmax, x, weight, bias, params, epilogue, pool);
}

// A relu's gradient and its sums are one pass.
void CudaBackend::conv2d_backward(const Conv2dBackward& layer) {
  if (layer.argmax.defined()) return pooled_backward(layer, 1.0);
  if (!layer.out.defined()) return Backend::conv2d_backward(layer);
  Conv2dBackward conv = layer;
  conv.grad_out = Tensor::empty_like(layer.out);
  relu_backward(conv.grad_out, layer.grad_bias, layer.grad_out, layer.out, 1.0);
  conv.out = conv.grad_bias = {};
  Backend::conv2d_backward(conv);
}

bool CudaBackend::fuses(const Conv2dLayer& layer) const {
  return !layer.front && layer.argmax.defined() && layer.sample_keys.defined() &&
         layer.conv.epilogue == Epilogue::relu;
}

void CudaBackend::conv2d_layer(const Conv2dLayer& layer) {
  if (!fuses(layer)) return Backend::conv2d_layer(layer);
  const Conv2dStage& conv = layer.conv;
  const Shape shape = conv2d_shape(layer.x.shape(), conv.weight.shape(), conv.params);
  const Tensor whole = Tensor::empty(shape, layer.x.options());
  conv2d(whole, layer.x, conv.weight, conv.bias, conv.params, conv.epilogue);
  enqueue(Op::max_pool2d, 2, {&layer.out, &layer.argmax, &whole, &layer.sample_keys},
          {.pool = layer.pool, .dropout = layer.dropout});
}

void CudaBackend::conv2d_layer_backward(const Conv2dLayerBackward& layer) {
  if (layer.front || !layer.conv.argmax.defined()) return Backend::conv2d_layer_backward(layer);
  pooled_backward(layer.conv, layer.dropout_scale);
}

// Of a layer whose result was pooled. Without a relu there is no dropout either.
void CudaBackend::pooled_backward(const Conv2dBackward& layer, double dropout_scale) {
  const Tensor& pooled = layer.grad_out;
  const Shape shape{pooled.size(0), layer.conv_out.h, layer.conv_out.w, pooled.size(3)};
  Conv2dBackward conv = layer;
  conv.grad_out = Tensor::empty(shape, pooled.options());
  conv.out = conv.argmax = conv.grad_bias = {};
  const Tensor sums = scratch_of_bias(layer.grad_bias, conv.grad_out);
  enqueue(Op::max_pool2d_backward, 3,
          {&conv.grad_out, &layer.grad_bias, &sums, &pooled, &layer.argmax, &layer.out},
          {.value = dropout_scale, .pool = layer.pool});
  Backend::conv2d_backward(conv);
}

void CudaBackend::max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                             const Pool2dParams& params) {
  enqueue(Op::max_pool2d, 2, {&out, &argmax, &x}, {.pool = params});
}

void CudaBackend::max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                                      const Pool2dParams& params) {
  const Tensor no_bias;
  enqueue(Op::max_pool2d_backward, 3, {&grad_x, &no_bias, &no_bias, &grad_out, &argmax, &no_bias},
          {.pool = params});
}

void CudaBackend::average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) {
  enqueue(Op::average_pool2d, 1, {&out, &x}, {.pool = params});
}

void CudaBackend::average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                                          const Pool2dParams& params) {
  enqueue(Op::average_pool2d_backward, 1, {&grad_x, &grad_out}, {.pool = params});
}

}  // namespace ronde::inline v0::cuda
