// What fused kernels mean: their parts, one after the other. A backend that has nothing faster calls these.
#include "backend/cpu/conv_shape.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

namespace {

Tensor convolved(Backend& backend, const Tensor& x, const Conv2dStage& stage) {
  const Tensor y = Tensor::empty(conv2d_shape(x.shape(), stage.weight.shape(), stage.params), x.options());
  backend.conv2d(y, x, stage.weight, stage.bias, stage.params, stage.epilogue);
  return y;
}

void sum_rows(Backend& backend, const Tensor& sums, const Tensor& x) {
  const std::int64_t c = sums.count(), rows = c == 0 ? 0 : x.count() / c;
  backend.reduce(ReduceOp::sum, sums.reshape({1, c}), x.reshape({rows, c}));
}

}  // namespace

void Backend::relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y,
                            const Tensor& y, double scale) {
  unary_backward(UnaryOp::relu, grad_x, grad_y, y, y, {});
  if (scale != 1.0) unary(UnaryOp::affine, grad_x, grad_x, {.alpha = scale, .beta = 0.0});
  if (grad_bias.defined()) sum_rows(*this, grad_bias, grad_x);
}

void Backend::dense_dropout(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            Epilogue epilogue, const Tensor& sample_keys, const DropoutParams& params) {
  const Tensor y = Tensor::empty_like(out);
  dense(y, x, weight, bias, epilogue);
  dropout(out, y, sample_keys, params);
}

void Backend::dense_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                    const Tensor& grad_out, const Tensor& x) {
  matmul(grad_weight, x, grad_out, {.transpose_a = true});
  if (grad_bias.defined()) sum_rows(*this, grad_bias, grad_out);
}

void Backend::batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean,
                                    const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                    BatchNormParams params, UnaryStage activation) {
  batch_norm(out, x, mean, variance, gamma, beta, params);
  if (!activation.changes_nothing()) unary(activation.op, out, out, activation.params);
}

void Backend::batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                             const Tensor& grad_beta, const Tensor& grad_out, const Tensor& x,
                                             const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                                             const Tensor& beta, BatchNormParams params,
                                             UnaryStage activation) {
  if (activation.changes_nothing())
    return batch_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma, params);
  const Tensor normalised = Tensor::empty_like(x), out = Tensor::empty_like(x), grad = Tensor::empty_like(x);
  batch_norm(normalised, x, mean, variance, gamma, beta, params);
  unary(activation.op, out, normalised, activation.params);
  unary_backward(activation.op, grad, grad_out, normalised, out, activation.params);
  batch_norm_backward(grad_x, grad_gamma, grad_beta, grad, x, mean, variance, gamma, params);
}

void Backend::batch_norm_add(const Tensor& out, const Tensor& x, const NormStage& norm,
                             const Tensor& addend) {
  const auto& [mean, variance, gamma, beta, params, activation] = norm;
  batch_norm(out, x, mean, variance, gamma, beta, params);
  binary(activation.changes_nothing() ? BinaryOp::add : BinaryOp::add_relu, out, out, addend);
}

void Backend::batch_norm_add_relu_backward(const NormGradients& grads, const Tensor& grad_addend,
                                           const Tensor& grad_out, const Tensor& out, const Tensor& x,
                                           const NormStage& norm) {
  unary_backward(UnaryOp::relu, grad_addend, grad_out, out, out, {});
  batch_norm_backward(grads.x, grads.gamma, grads.beta, grad_addend, x, norm.mean, norm.variance, norm.gamma,
                      norm.params);
}

void Backend::conv2d_norm(const Tensor& out, const Tensor& x, const Conv2dStage& conv,
                          const NormStage& norm) {
  conv2d(out, x, conv.weight, conv.bias, conv.params, conv.epilogue);
  const auto& [mean, variance, gamma, beta, params, activation] = norm;
  batch_norm_activation(out, out, mean, variance, gamma, beta, params, activation);
}

void Backend::conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                                const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                                Epilogue epilogue, const Pool2dParams& pool) {
  const Tensor whole = Tensor::empty(conv2d_shape(x.shape(), weight.shape(), params), x.options());
  conv2d(whole, x, weight, bias, params, epilogue);
  max_pool2d(out, argmax, whole, pool);
}

void Backend::conv2d_backward(const Conv2dBackward& layer) {
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

void Backend::conv2d_layer(const Conv2dLayer& layer) {
  const Tensor x = layer.front ? convolved(*this, layer.x, *layer.front) : layer.x;
  const Conv2dStage& c = layer.conv;
  const bool drops = layer.sample_keys.defined();
  const Tensor y = drops ? Tensor::empty_like(layer.out) : layer.out;
  if (layer.argmax.defined())
    conv2d_max_pool2d(y, layer.argmax, x, c.weight, c.bias, c.params, c.epilogue, layer.pool);
  else
    conv2d(y, x, c.weight, c.bias, c.params, c.epilogue);
  if (drops) dropout(layer.out, y, layer.sample_keys, layer.dropout);
}

void Backend::conv2d_layer_backward(const Conv2dLayerBackward& layer) {
  Conv2dBackward conv = layer.conv;
  if (layer.dropout_scale != 1.0) {
    conv.grad_out = Tensor::empty_like(layer.conv.grad_out);
    unary(UnaryOp::affine, conv.grad_out, layer.conv.grad_out, {.alpha = layer.dropout_scale, .beta = 0.0});
  }
  if (!layer.front) return conv2d_backward(conv);
  const Conv2dStage& front = *layer.front;
  conv.x = convolved(*this, layer.conv.x, front);
  conv.grad_x = Tensor::empty_like(conv.x);
  conv2d_backward(conv);
  if (!layer.grad_front_weight.defined() && !layer.grad_front_bias.defined()) return;
  conv2d_backward({.grad_weight = layer.grad_front_weight,
                   .grad_bias = layer.grad_front_bias,
                   .grad_out = conv.grad_x,
                   .x = layer.conv.x,
                   .out = front.epilogue == Epilogue::relu ? conv.x : Tensor(),
                   .conv_out = {conv.x.size(1), conv.x.size(2)},
                   .params = front.params});
}

}  // namespace ronde::inline v0
