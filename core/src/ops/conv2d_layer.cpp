#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/window.h"

namespace ronde::inline v0 {
namespace {

struct Conv2dLayerNode final : Node {
  Conv2dLayerBackward layer;  // without gradients

  const char* name() const override { return "conv2d_layer"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const auto wanted = [&](int i) { return grads.wanted(i) ? grads.out(i) : Tensor(); };
    layer.conv.grad_out = grad_out.contiguous();
    layer.conv.grad_x = wanted(0);
    layer.conv.grad_weight = wanted(1);
    layer.conv.grad_bias = wanted(2);
    layer.grad_front_weight = wanted(3);
    layer.grad_front_bias = wanted(4);
    grad_out.backend().conv2d_layer_backward(layer);
    layer = {};
  }
};

// Whether conv2d would take this call for images of so many channels; it explains itself where not.
bool is_plain(const Tensor& x, std::int64_t channels, const Conv2dCall& call) {
  const auto fits = [&](const Variable& v, int rank) {
    if (!v.defined() || v.value().rank() != rank || &v.value().backend() != &x.backend()) return false;
    return v.dtype() == x.dtype() || (v.dtype() == DType::f32 && x.dtype() == DType::bf16);
  };
  return fits(call.weight, 4) && call.options.groups == 1 && call.weight.size(3) == channels &&
         (!call.bias.defined() || (fits(call.bias, 1) && call.bias.size(0) == call.weight.size(0)));
}

struct PlacedStage {
  Conv2dStage stage;
  Size2d out;
};
PlacedStage place(Size2d image, const Conv2dCall& call) {
  const PlacedConv2d placed = place_conv2d(image, call.weight.value(), call.options);
  return {{.weight = call.weight.value().contiguous(),
           .bias = dense_value(call.bias),
           .params = placed.params,
           .epilogue = call.options.epilogue},
          placed.out};
}

// The layer with room for its result, weights as they are; nothing where separate calls have to be made.
struct PlacedLayer {
  Conv2dLayer layer;
  Size2d conv_out;
};
std::optional<PlacedLayer> place(const Tensor& x, const std::optional<Conv2dCall>& front,
                                 const Conv2dCall& conv, const std::optional<DropoutCall>& drop) {
  if (x.rank() != 4 || (front && (front->options.max_pool || !is_plain(x, x.size(3), *front))))
    return std::nullopt;
  if (!is_plain(x, front ? front->weight.size(0) : x.size(3), conv)) return std::nullopt;
  PlacedLayer placed;
  Conv2dLayer& layer = placed.layer;
  layer.x = x.contiguous();
  Size2d image = image_size(x);
  if (front) {
    const PlacedStage stage = place(image, *front);
    layer.front = stage.stage;
    image = stage.out;
  }
  const PlacedStage stage = place(image, conv);
  layer.conv = stage.stage;
  placed.conv_out = image = stage.out;
  DType argmax_type{};
  if (conv.options.max_pool) {
    const PlacedPool pool = place_pool("max_pool2d", image, *conv.options.max_pool);
    layer.pool = pool.params;
    image = pool.out;
    argmax_type = pool.argmax_type;
  }
  layer.out = Tensor::empty({x.size(0), image.h, image.w, conv.weight.size(0)}, x.options());
  if (conv.options.max_pool)
    layer.argmax = Tensor::empty(layer.out.shape(), {.dtype = argmax_type, .backend = &x.backend()});
  if (drop && drop->params.rate != 0.0) {
    require_dropout(layer.out, drop->sample_keys, drop->params);
    layer.sample_keys = drop->sample_keys.contiguous();
    layer.dropout = drop->params;
  }
  return placed;
}

// What the gradients need.
Conv2dLayerBackward kept(const PlacedLayer& placed) {
  const Conv2dLayer& layer = placed.layer;
  Conv2dLayerBackward kept;
  kept.conv = {.x = layer.x,
               .weight = layer.conv.weight,
               .out = layer.conv.epilogue == Epilogue::relu ? layer.out : Tensor(),
               .argmax = layer.argmax,
               .conv_out = placed.conv_out,
               .params = layer.conv.params,
               .pool = layer.pool};
  kept.front = layer.front;
  if (layer.sample_keys.defined()) kept.dropout_scale = 1 / (1 - layer.dropout.rate);
  return kept;
}

}  // namespace

Variable conv2d_layer(const Variable& x, const std::optional<Conv2dCall>& front, const Conv2dCall& conv,
                      const std::optional<DropoutCall>& drop) {
  const bool may_fuse = !(front && x.requires_grad());  // the front's gradients end with its weights
  if (auto placed = may_fuse ? place(x.value(), front, conv, drop) : std::nullopt;
      placed && x.value().backend().fuses(placed->layer)) {
    const Variable front_weight = front ? front->weight : Variable(),
                   front_bias = front ? front->bias : Variable();
    Conv2dLayer& layer = placed->layer;
    layer.conv.weight = weight_value(layer.conv.weight, layer.x);
    layer.conv.bias = bias_value(conv.bias, layer.x);
    if (layer.front) {
      layer.front->weight = weight_value(layer.front->weight, layer.x);
      layer.front->bias = bias_value(front->bias, layer.x);
    }
    x.value().backend().conv2d_layer(layer);
    auto node = std::make_shared<Conv2dLayerNode>();
    node->layer = kept(*placed);
    return Node::record(std::move(node), {x, conv.weight, conv.bias, front_weight, front_bias},
                        placed->layer.out);
  }
  if (front)
    return conv2d_layer(conv2d(x, front->weight, front->bias, front->options), std::nullopt, conv, drop);
  const Variable y = conv2d(x, conv.weight, conv.bias, conv.options);
  return drop ? dropout(y, drop->sample_keys, drop->params) : y;
}

}  // namespace ronde::inline v0
