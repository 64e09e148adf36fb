#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/node.h>

#include "ops/batch_norm.h"
#include "ops/checks.h"
#include "ops/gradients.h"
#include "ops/window.h"

namespace ronde::inline v0 {
namespace {

struct Conv2dNode final : Node {
  Tensor x;       // (n, h, w, c); kept for the weight's gradient
  Tensor weight;  // (o, kh, kw, c / groups); kept for x's
  Tensor y;       // the result, (n, oh, ow, o) or pooled; kept for a fused relu
  Tensor argmax;  // as max_pool2d's; kept for fused pooling
  Size2d conv_out;
  Conv2dParams params;
  Pool2dParams pool;

  const char* name() const override { return "conv2d"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const auto wanted = [&](int i) { return grads.wanted(i) ? grads.out(i) : Tensor(); };
    const Conv2dBackward layer{.grad_x = wanted(0),
                               .grad_weight = wanted(1),
                               .grad_bias = wanted(2),
                               .grad_out = grad_out.contiguous(),
                               .x = x,
                               .weight = weight,
                               .out = y,
                               .argmax = argmax,
                               .conv_out = conv_out,
                               .params = params,
                               .pool = pool};
    grad_out.backend().conv2d_backward(layer);
  }
};

void check_shapes(const Tensor& x, const Tensor& weight, const Variable& bias, const Conv2dOptions& options) {
  require_rank("conv2d", "input", x, 4, "(n, h, w, c)");
  require_rank("conv2d", "weight", weight, 4, "(filters, kh, kw, channels / groups)");
  require_weight("conv2d", x, weight);
  require_floating("conv2d", x);
  const std::int64_t groups = options.groups, filters = weight.size(0);
  require<UsageError>(groups > 0 && filters % groups == 0, "[conv2d] ", counted(filters, "filter"), " in ",
                      counted(groups, "group"));
  require(x.size(3) == weight.size(3) * groups, "[conv2d] weight expects ",
          counted(weight.size(3) * groups, "input channel"), ", got ", x.size(3));
  if (!bias.defined()) return;
  require_weight("conv2d", x, bias.value());
  require(bias.shape() == Shape{filters}, "[conv2d] bias must be (", filters, ",), got shape ", bias.shape());
}

// The result; what the node keeps of the pooling goes there.
Tensor compute(Conv2dNode& node, const Tensor& x, const Tensor& weight, const Tensor& bias,
               const Conv2dOptions& options) {
  Backend& backend = x.backend();
  const Size2d out = node.conv_out;
  const std::int64_t n = x.size(0), filters = weight.size(0);
  if (!options.max_pool) {
    const Tensor y = Tensor::empty({n, out.h, out.w, filters}, x.options());
    backend.conv2d(y, x, weight, bias, node.params, options.epilogue);
    return y;
  }
  const PlacedPool pool = place_pool("max_pool2d", out, *options.max_pool);
  node.pool = pool.params;
  const Tensor y = Tensor::empty({n, pool.out.h, pool.out.w, filters}, x.options());
  node.argmax = Tensor::empty(y.shape(), {.dtype = pool.argmax_type, .backend = &backend});
  backend.conv2d_max_pool2d(y, node.argmax, x, weight, bias, node.params, options.epilogue, node.pool);
  return y;
}

}  // namespace

Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias, Conv2dOptions options) {
  check_shapes(x.value(), weight.value(), bias, options);
  const PlacedConv2d placed = place_conv2d(image_size(x.value()), weight.value(), options);
  auto node = std::make_shared<Conv2dNode>();
  node->conv_out = placed.out;
  node->params = placed.params;
  const Tensor input = x.value().contiguous(), kernel = weight_value(weight.value(), input);
  const Tensor y = compute(*node, input, kernel, bias_value(bias, input), options);
  if (!Node::needed({x, weight, bias})) return y;
  if (weight.requires_grad()) node->x = input;
  if (x.requires_grad()) node->weight = kernel;
  if (options.epilogue == Epilogue::relu) node->y = y;
  return Node::record(std::move(node), {x, weight, bias}, y);
}

Variable conv2d_norm(const Variable& x, const Conv2dCall& conv, const BatchNormCall& norm) {
  const auto& [gamma, beta, statistics, params, activation] = norm;
  if (Node::needed({x, conv.weight, conv.bias, gamma, beta}) || conv.options.max_pool)
    return batch_norm_inference(conv2d(x, conv.weight, conv.bias, conv.options), gamma, beta, statistics,
                                params, activation);
  check_shapes(x.value(), conv.weight.value(), conv.bias, conv.options);
  const PlacedConv2d placed = place_conv2d(image_size(x.value()), conv.weight.value(), conv.options);
  const Tensor input = x.value().contiguous();
  const Tensor y =
      Tensor::empty({x.size(0), placed.out.h, placed.out.w, conv.weight.size(0)}, input.options());
  check_batch_norm(y, gamma, beta, statistics);
  y.backend().conv2d_norm(y, input,
                          {.weight = weight_value(conv.weight.value(), input),
                           .bias = bias_value(conv.bias, input),
                           .params = placed.params,
                           .epilogue = conv.options.epilogue},
                          {.mean = statistics.mean.contiguous(),
                           .variance = statistics.variance.contiguous(),
                           .gamma = dense_value(gamma),
                           .beta = dense_value(beta),
                           .params = params,
                           .activation = activation});
  return y;
}

}  // namespace ronde::inline v0
