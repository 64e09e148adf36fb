// Convolutions and pooling, of images and of sequences.
#include <algorithm>

#include <ronde/core/ops.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling2d.h>

#include "export/onnx_axes.h"
#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

/// A window that slides over an image, or over a sequence, which is an image of one row here; where there is
/// padding, more of it is at the bottom and on the right, causal padding is in front.
struct Window {
  Size2d size, strides, dilation;
  enum class Pads { none, same, causal } pads;

  struct Axis {
    std::int64_t output, before, after;
  };
  Axis axis(std::int64_t input, std::int64_t window, std::int64_t stride, std::int64_t dilate) const {
    const std::int64_t reach = (window - 1) * dilate + 1;
    if (pads == Pads::none) return {(input - reach) / stride + 1, 0, 0};
    if (pads == Pads::causal) return {(input - 1) / stride + 1, reach - 1, 0};
    const std::int64_t output = ceil_divide(input, stride);
    const std::int64_t padding = std::max<std::int64_t>((output - 1) * stride + reach - input, 0);
    return {output, padding / 2, padding - padding / 2};
  }
};

/// The node, with the attributes that all windows have, in front of `more`.
OnnxValue add_window(const OnnxCall& call, const std::string& op, const Window& window,
                     const std::vector<std::string>& constants, std::int64_t channels,
                     std::vector<OnnxAttribute> more) {
  const OnnxValue x = call.builder.channels_first(call.input());
  const Size2d image = image_size(x.shape);
  const auto h = window.axis(image.h, window.size.h, window.strides.h, window.dilation.h);
  const auto w = window.axis(image.w, window.size.w, window.strides.w, window.dilation.w);
  std::vector<OnnxAttribute> attributes{{"kernel_shape", axes_of(x.shape, window.size)},
                                        {"pads", pads_of(x.shape, {h.before, w.before}, {h.after, w.after})},
                                        {"strides", axes_of(x.shape, window.strides)}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return call.builder.add(op, call.name(), {x}, constants,
                          shape_like(x.shape, {h.output, w.output}, channels), attributes);
}

Window::Pads padding_of(const OnnxCall& call) {
  if (call.is("padding", "same")) return Window::Pads::same;
  return call.is("padding", "causal") ? Window::Pads::causal : Window::Pads::none;
}

Window window_of(const OnnxCall& call, Size2d kernel) {
  return {kernel, call.size("strides"), call.size("dilation_rate"), padding_of(call)};
}

/// The kernel, (out, in / groups, kh, kw), or (.., k) for sequences, and the bias if the layer has one and it
/// is wanted.
std::vector<std::string> add_weights(const OnnxCall& call, const char* kernel_name, bool with_bias = true) {
  Tensor kernel = call.builder.weight(call.layer, kernel_name).permute({0, 3, 1, 2});
  if (call.input().shape.rank() == 2)
    kernel = kernel.reshape({kernel.size(0), kernel.size(1), kernel.size(3)});
  std::vector<std::string> constants{call.builder.constant(cat(call.name(), "/", kernel_name), kernel)};
  if (with_bias && call.builder.has_weight(call.layer, "bias"))
    constants.push_back(
        call.builder.constant(cat(call.name(), "/bias"), call.builder.weight(call.layer, "bias")));
  return constants;
}

OnnxValue add_filters(const OnnxCall& call, const Window& window, const std::vector<std::string>& constants,
                      std::int64_t filters, std::int64_t groups) {
  return add_window(call, "Conv", window, constants, filters,
                    {{"dilations", axes_of(call.input().shape, window.dilation)}, {"group", groups}});
}

OnnxValue add_activation(const OnnxCall& call, const OnnxValue& y) {
  return onnx_activation(call.builder, call.config.at("activation").as_string(), y, call.name());
}

OnnxValue add_convolution(const OnnxCall& call, const char* kernel_name, std::int64_t groups) {
  const Shape kernel = call.builder.weight(call.layer, kernel_name).shape();
  const Window window = window_of(call, {kernel[1], kernel[2]});
  return add_activation(call, add_filters(call, window, add_weights(call, kernel_name), kernel[0], groups));
}

OnnxValue add_pooling(const OnnxCall& call, const std::string& op) {
  const Window window{call.size("pool_size"), call.size("strides"), {1, 1}, padding_of(call)};
  return add_window(call, op, window, {}, call.input().shape.back(), {});
}

/// One direction of a transposed convolution: what is cut at both edges of what its windows reach, and what
/// lies behind that (ONNX' output_padding).
struct TransposedAxis {
  std::int64_t cut, more;
};

TransposedAxis transposed(std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t stride,
                          std::int64_t dilation) {
  const std::int64_t reach = (in - 1) * stride + (window - 1) * dilation + 1;
  return {std::max<std::int64_t>(reach - out, 0), std::max<std::int64_t>(out - reach, 0)};
}

/// One value per channel: ONNX leaves two axes of extent 1 behind.
OnnxValue add_global_pooling(const OnnxCall& call, const std::string& op, bool keepdims) {
  const OnnxValue x = call.builder.channels_first(call.input());
  const OnnxValue pooled = call.builder.add(op, keepdims ? call.name() : cat(call.name(), "/pooled"), {x}, {},
                                            {1, 1, x.shape.back()});
  if (keepdims) return pooled;
  return call.builder.add("Flatten", call.name(), {pooled}, {}, {x.shape.back()},
                          {{"axis", std::int64_t{1}}});
}

}  // namespace

OnnxValue onnx_conv(const OnnxCall& call) {
  return add_convolution(call, "kernel", call.config.at("groups").as_int());
}

OnnxValue onnx_depthwise_conv(const OnnxCall& call) {
  return add_convolution(call, "depthwise_kernel", call.input().shape.back());
}

OnnxValue onnx_separable_conv(const OnnxCall& call) {
  const char* const first = "depthwise_kernel";
  const OnnxCall depthwise{call.builder, call.layer, call.inputs, call.config, "/depthwise"};
  const Shape kernel = call.builder.weight(call.layer, first).shape();
  const std::vector<OnnxValue> filtered{add_filters(depthwise, window_of(call, {kernel[1], kernel[2]}),
                                                    add_weights(depthwise, first, false), kernel[0],
                                                    call.input().shape.back())};
  const OnnxCall pointwise{call.builder, call.layer, filtered, call.config};
  return add_activation(pointwise, add_filters(pointwise, {{1, 1}, {1, 1}, {1, 1}, Window::Pads::none},
                                               add_weights(pointwise, "pointwise_kernel"),
                                               call.config.at("filters").as_int(), 1));
}

OnnxValue onnx_conv_transpose(const OnnxCall& call) {
  const Shape kernel = call.builder.weight(call.layer, "kernel").shape();  // (in, kh, kw, filters)
  const OnnxValue x = call.builder.channels_first(call.input());
  const Window window = window_of(call, {kernel[1], kernel[2]});
  Conv2dTransposeOptions options{.stride = window.strides,
                                 .padding = call.is("padding", "same") ? Padding::same : Padding::valid,
                                 .dilation = window.dilation};
  if (!call.config.at("output_padding").is_null()) options.output_padding = call.size("output_padding");
  const Size2d in = image_size(x.shape), out = conv2d_transpose_size(in, window.size, options);
  const TransposedAxis h = transposed(in.h, out.h, window.size.h, window.strides.h, window.dilation.h);
  const TransposedAxis w = transposed(in.w, out.w, window.size.w, window.strides.w, window.dilation.w);
  std::vector<OnnxAttribute> attributes{
      {"kernel_shape", axes_of(x.shape, window.size)},
      {"output_padding", axes_of(x.shape, {h.more, w.more})},
      {"pads", pads_of(x.shape, {h.cut / 2, w.cut / 2}, {h.cut - h.cut / 2, w.cut - w.cut / 2})},
      {"strides", axes_of(x.shape, window.strides)}};
  if (window.dilation != Size2d{1, 1}) attributes.push_back({"dilations", axes_of(x.shape, window.dilation)});
  return add_activation(call, call.builder.add("ConvTranspose", call.name(), {x}, add_weights(call, "kernel"),
                                               shape_like(x.shape, out, kernel[3]), attributes));
}

OnnxValue onnx_max_pooling(const OnnxCall& call) {
  return add_pooling(call, "MaxPool");
}

/// Padding does not count in ONNX' mean either, unless asked for.
OnnxValue onnx_average_pooling(const OnnxCall& call) {
  return add_pooling(call, "AveragePool");
}

OnnxValue onnx_global_average_pooling2d(const OnnxCall& call) {
  return add_global_pooling(call, "GlobalAveragePool",
                            dynamic_cast<const GlobalAveragePooling2D&>(call.layer).options().keepdims);
}

OnnxValue onnx_global_max_pooling2d(const OnnxCall& call) {
  return add_global_pooling(call, "GlobalMaxPool",
                            dynamic_cast<const GlobalMaxPooling2D&>(call.layer).options().keepdims);
}

}  // namespace ronde::inline v0
