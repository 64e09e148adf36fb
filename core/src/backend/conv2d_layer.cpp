// What a layer means: its parts, one after the other.
#include "backend/cpu/conv_shape.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

namespace {

Tensor convolved(Backend& backend, const Tensor& x, const Conv2dStage& stage) {
  const Tensor y = Tensor::empty(conv2d_shape(x.shape(), stage.weight.shape(), stage.params), x.options());
  backend.conv2d(y, x, stage.weight, stage.bias, stage.params, stage.epilogue);
  return y;
}

}  // namespace

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
