// A convolution and what stands behind it, made of their separate kernels.
#include "backend/cpu/conv_shape.h"
#include "backend/cpu/cpu_backend.h"

namespace ronde::inline v0 {

void CpuBackend::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                   const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                   Epilogue epilogue, const Pool2dParams& pool) {
  const Tensor whole = Tensor::empty(conv2d_shape(x.shape(), weight.shape(), params), x.options());
  conv2d(whole, x, weight, bias, params, epilogue);
  max_pool2d(out, argmax, whole, pool);
}

void CpuBackend::conv2d_backward(const Conv2dBackward& layer) {
  Tensor grad = layer.grad_out;
  if (layer.out.defined()) {
    grad = Tensor::empty_like(layer.out);
    unary_backward(UnaryOp::relu, grad, layer.grad_out, layer.out, layer.out, {});
  }
  if (layer.argmax.defined()) {
    const Shape shape{grad.size(0), layer.conv_out.h, layer.conv_out.w, grad.size(3)};
    const Tensor whole = Tensor::empty(shape, grad.options());
    max_pool2d_backward(whole, grad, layer.argmax, layer.pool);
    grad = whole;
  }
  if (layer.grad_weight.defined())
    conv2d_backward_weight(layer.grad_weight, layer.grad_bias, grad, layer.x, layer.params);
  else if (layer.grad_bias.defined())
    reduce(ReduceOp::sum, layer.grad_bias.reshape({1, 1, 1, grad.size(3)}), grad);
  if (layer.grad_x.defined()) conv2d_backward_input(layer.grad_x, grad, layer.weight, layer.params);
}

}  // namespace ronde::inline v0
