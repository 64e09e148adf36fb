#include <ronde/core/ops.h>

#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/gradients.h"
#include "ops/window.h"

namespace ronde::inline v0 {
namespace {

// The gradient of a convolution's input, made a layer: what that convolution would read is written here.
struct Conv2dTransposeNode final : Node {
  Tensor x;       // (n, h, w, c); kept for the weight's gradient
  Tensor weight;  // (c, kh, kw, filters); kept for x's
  Tensor y;       // (n, oh, ow, filters); kept for a relu
  Conv2dParams params;

  const char* name() const override { return "conv2d_transpose"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = before_bias(grad_out.contiguous(), grads);
    Backend& backend = grad.backend();
    if (grads.wanted(1)) backend.conv2d_backward_weight(grads.out(1), {}, x, grad, params);
    if (grads.wanted(0)) backend.conv2d(grads.out(0), grad, weight, {}, params, Epilogue::none);
  }

 private:
  // Gives the bias its gradient, too.
  Tensor before_bias(const Tensor& grad_out, InputGrads& grads) const {
    const Tensor grad_bias = grads.wanted(2) ? grads.out(2) : Tensor();
    if (!y.defined()) {
      if (grad_bias.defined()) bias_grad(grad_bias, grad_out);
      return grad_out;
    }
    const Tensor grad = grads.owns_grad_out() ? grad_out : Tensor::empty_like(y);
    y.backend().relu_backward(grad, grad_bias, grad_out, y, 1.0);
    return grad;
  }
};

void check_transposed(const Tensor& x, const Tensor& weight, const Variable& bias) {
  require_rank("conv2d_transpose", "input", x, 4, "(n, h, w, c)");
  require_rank("conv2d_transpose", "weight", weight, 4, "(channels, kh, kw, filters)");
  require_weight("conv2d_transpose", x, weight);
  require_floating("conv2d_transpose", x);
  require(x.size(3) == weight.size(0), "[conv2d_transpose] weight expects ",
          counted(weight.size(0), "input channel"), ", got ", x.size(3));
  if (!bias.defined()) return;
  require_weight("conv2d_transpose", x, bias.value());
  require(bias.shape() == Shape{weight.size(3)}, "[conv2d_transpose] bias must be (", weight.size(3),
          ",), got shape ", bias.shape());
}

std::int64_t output_extent(std::int64_t in, std::int64_t window, std::int64_t stride, Padding padding) {
  const std::int64_t strides = Shape{in, stride}.count();  // an error where it cannot be counted
  return padding == Padding::same ? strides : strides - stride + std::max(window, stride);
}

void add_bias(const Tensor& y, const Tensor& bias, Epilogue epilogue) {
  const bool relu = epilogue == Epilogue::relu;
  if (bias.defined())
    y.backend().binary(relu ? BinaryOp::add_relu : BinaryOp::add, y, y, bias.broadcast_to(y.shape()));
  else if (relu)
    y.backend().unary(UnaryOp::relu, y, y, {});
}

}  // namespace

Variable conv2d_transpose(const Variable& x, const Variable& weight, const Variable& bias,
                          Conv2dTransposeOptions options) {
  check_transposed(x.value(), weight.value(), bias);
  const Size2d window{weight.size(1), weight.size(2)}, stride = options.stride;
  const Size2d out{output_extent(x.size(1), window.h, stride.h, options.padding),
                   output_extent(x.size(2), window.w, stride.w, options.padding)};
  const Windows windows = place_windows("conv2d_transpose", out, window, stride, options.padding);
  auto node = std::make_shared<Conv2dTransposeNode>();
  node->params = {.stride = stride, .padding = windows.padding};
  const Tensor input = x.value().contiguous(), kernel = weight_value(weight.value(), input);
  const Tensor y = Tensor::empty({x.size(0), out.h, out.w, weight.size(3)}, input.options());
  y.backend().conv2d_backward_input(y, input, kernel, node->params);
  add_bias(y, bias_value(bias, input), options.epilogue);
  if (!Node::needed({x, weight, bias})) return y;
  if (weight.requires_grad()) node->x = input;
  if (x.requires_grad()) node->weight = kernel;
  if (options.epilogue == Epilogue::relu) node->y = y;
  return Node::record(std::move(node), {x, weight, bias}, y);
}

}  // namespace ronde::inline v0
