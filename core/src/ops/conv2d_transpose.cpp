#include <ronde/core/ops.h>

#include <algorithm>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/node.h>

#include "ops/checks.h"
#include "ops/gradients.h"

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
    const Tensor grad = memory_over(grad_out, y, grads);
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

void check_options(const Conv2dTransposeOptions& options) {
  const Size2d stride = options.stride, dilation = options.dilation;
  require<UsageError>(stride.h > 0 && stride.w > 0 && dilation.h > 0 && dilation.w > 0,
                      "[conv2d_transpose] stride and dilation must be positive, got ", stride.h, "x",
                      stride.w, " and ", dilation.h, "x", dilation.w);
  const auto [h, w] = options.output_padding.value_or(Size2d{0, 0});
  require<UsageError>(h >= 0 && w >= 0 && h < stride.h && w < stride.w,
                      "[conv2d_transpose] output_padding must not be negative and must be below the stride, ",
                      stride.h, "x", stride.w, ", got ", h, "x", w);
}

/// One of the two directions.
struct Direction {
  std::int64_t in, taps, stride, dilation;
  std::optional<std::int64_t> output_padding;
};

Direction along(std::int64_t Size2d::*axis, Size2d in, Size2d kernel, const Conv2dTransposeOptions& options) {
  Direction direction{in.*axis, kernel.*axis, options.stride.*axis, options.dilation.*axis, {}};
  if (options.output_padding) direction.output_padding = *options.output_padding.*axis;
  return direction;
}

/// How far the result reaches, and the zeros around it that the convolution has whose transpose this is: what
/// is cut off before and behind.
struct Placed {
  std::int64_t out, before, behind;
};

Placed place(std::int64_t Size2d::*axis, Size2d in, Size2d kernel, const Conv2dTransposeOptions& options) {
  const Direction d = along(axis, in, kernel, options);
  const std::int64_t strides = Shape{d.in, d.stride}.count();  // an error where it cannot be counted
  const std::int64_t window = Shape{d.taps - 1, d.dilation}.count() + 1;
  const bool same = options.padding == Padding::same;
  std::int64_t last = same ? d.stride : std::max(window, d.stride);  // how far the last pixel reaches
  if (d.output_padding) last = (same ? window % 2 : window) + *d.output_padding;
  const std::int64_t out = strides - d.stride + last, cut = std::max<std::int64_t>(window - last, 0);
  require(out > 0, "[conv2d_transpose] nothing is left of ", counted(d.in, "pixel"), " by a window of ",
          window, " with output_padding ", d.output_padding.value_or(0));
  return {out, cut / 2, cut - cut / 2};
}

void add_bias(const Tensor& y, const Tensor& bias, Epilogue epilogue) {
  const bool relu = epilogue == Epilogue::relu;
  if (bias.defined())
    y.backend().binary(relu ? BinaryOp::add_relu : BinaryOp::add, y, y, bias.broadcast_to(y.shape()));
  else if (relu)
    y.backend().unary(UnaryOp::relu, y, y, {});
}

}  // namespace

Size2d conv2d_transpose_size(Size2d in, Size2d kernel, const Conv2dTransposeOptions& options) {
  check_options(options);
  return {place(&Size2d::h, in, kernel, options).out, place(&Size2d::w, in, kernel, options).out};
}

Variable conv2d_transpose(const Variable& x, const Variable& weight, const Variable& bias,
                          Conv2dTransposeOptions options) {
  check_transposed(x.value(), weight.value(), bias);
  check_options(options);
  const Size2d in{x.size(1), x.size(2)}, taps{weight.size(1), weight.size(2)};
  const Placed rows = place(&Size2d::h, in, taps, options), columns = place(&Size2d::w, in, taps, options);
  auto node = std::make_shared<Conv2dTransposeNode>();
  node->params = {
      .stride = options.stride,
      .padding = {.top = rows.before, .bottom = rows.behind, .left = columns.before, .right = columns.behind},
      .dilation = options.dilation};
  const Tensor input = x.value().contiguous(), kernel = weight_value(weight.value(), input);
  const Tensor y = Tensor::empty({x.size(0), rows.out, columns.out, weight.size(3)}, input.options());
  y.backend().conv2d_backward_input(y, input, kernel, node->params);
  add_bias(y, bias_value(bias, input), options.epilogue);
  if (!Node::needed({x, weight, bias})) return y;
  if (weight.requires_grad()) node->x = input;
  if (x.requires_grad()) node->weight = kernel;
  if (options.epilogue == Epilogue::relu) node->y = y;
  return Node::record(std::move(node), {x, weight, bias}, y);
}

}  // namespace ronde::inline v0
