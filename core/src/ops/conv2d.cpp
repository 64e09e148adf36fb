#include <ronde/core/ops.h>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/gradients.h"
#include "ops/window.h"

namespace ronde::inline v0 {
namespace {

struct Conv2dNode final : Node {
  Tensor x;       // (n, h, w, c); kept for the weight's gradient
  Tensor weight;  // (o, kh, kw, c / groups); kept for x's
  Tensor y;       // (n, oh, ow, o); kept for a fused relu
  Conv2dParams params;
  Epilogue epilogue = Epilogue::none;

  const char* name() const override { return "conv2d"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = before_epilogue(epilogue, grad_out, y, grads);
    Backend& backend = grad.backend();
    const Tensor grad_bias = grads.wanted(2) ? grads.out(2) : Tensor();
    if (grads.wanted(1))
      backend.conv2d_backward_weight(grads.out(1), grad_bias, grad, x, params);
    else if (grad_bias.defined())
      bias_grad(grad_bias, grad);
    if (grads.wanted(0)) backend.conv2d_backward_input(grads.out(0), grad, weight, params);
  }
};

void check_shapes(const Tensor& x, const Tensor& weight, const Variable& bias, const Conv2dOptions& options) {
  require_rank("conv2d", "input", x, 4, "(n, h, w, c)");
  require_rank("conv2d", "weight", weight, 4, "(filters, kh, kw, channels / groups)");
  require_alike("conv2d", x, weight);
  require_floating("conv2d", x);
  const std::int64_t groups = options.groups, filters = weight.size(0);
  require<UsageError>(groups > 0 && filters % groups == 0, "[conv2d] ", filters, " filters in ", groups,
                      " groups");
  require<UsageError>(options.dilation.h > 0 && options.dilation.w > 0,
                      "[conv2d] dilation must be positive, got ", options.dilation.h, "x",
                      options.dilation.w);
  require(x.size(3) == weight.size(3) * groups, "[conv2d] weight expects ", weight.size(3) * groups,
          " input channels, got ", x.size(3));
  if (!bias.defined()) return;
  require_alike("conv2d", x, bias.value());
  require(bias.shape() == Shape{filters}, "[conv2d] bias must be (", filters, ",), got shape ", bias.shape());
}

}  // namespace

Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias, Conv2dOptions options) {
  check_shapes(x.value(), weight.value(), bias, options);
  const Size2d window{(weight.size(1) - 1) * options.dilation.h + 1,
                      (weight.size(2) - 1) * options.dilation.w + 1};
  const Windows windows = place_windows("conv2d", x.value(), window, options.stride, options.padding);
  const Conv2dParams params{.stride = options.stride,
                            .padding = windows.padding,
                            .dilation = options.dilation,
                            .groups = options.groups};
  const Tensor input = x.value().contiguous(), kernel = weight.value().contiguous();
  const Tensor y = Tensor::empty({x.size(0), windows.out.h, windows.out.w, weight.size(0)}, input.options());
  y.backend().conv2d(y, input, kernel, dense_value(bias), params, options.epilogue);
  if (!Node::needed({x, weight, bias})) return y;
  auto node = std::make_shared<Conv2dNode>();
  if (weight.requires_grad()) node->x = input;
  if (x.requires_grad()) node->weight = kernel;
  if (options.epilogue == Epilogue::relu) node->y = y;
  node->params = params;
  node->epilogue = options.epilogue;
  return Node::record(std::move(node), {x, weight, bias}, y);
}

}  // namespace ronde::inline v0
