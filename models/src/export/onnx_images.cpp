// Convolutions, pooling and padding.
#include <algorithm>

#include <ronde/core/ops.h>
#include <ronde/core/whole_numbers.h>
#include <ronde/nn/cropping2d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/zero_padding2d.h>

#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

/// A window that slides over an image; where there is padding, more of it is at the bottom and on the right.
struct Window {
  Size2d size, strides, dilation;
  bool same;

  struct Axis {
    std::int64_t output, before, after;
  };
  Axis axis(std::int64_t input, std::int64_t window, std::int64_t stride, std::int64_t dilate) const {
    const std::int64_t reach = (window - 1) * dilate + 1;
    if (!same) return {(input - reach) / stride + 1, 0, 0};
    const std::int64_t output = ceil_divide(input, stride);
    const std::int64_t padding = std::max<std::int64_t>((output - 1) * stride + reach - input, 0);
    return {output, padding / 2, padding - padding / 2};
  }
};

using Sizes = std::vector<std::int64_t>;

/// The node, with the attributes that all windows have, in front of `more`.
OnnxValue add_window(const OnnxCall& call, const std::string& op, const Window& window,
                     const std::vector<std::string>& constants, std::int64_t channels,
                     std::vector<OnnxAttribute> more) {
  const OnnxValue x = call.builder.channels_first(call.input());
  const auto h = window.axis(x.shape[0], window.size.h, window.strides.h, window.dilation.h);
  const auto w = window.axis(x.shape[1], window.size.w, window.strides.w, window.dilation.w);
  std::vector<OnnxAttribute> attributes{{"kernel_shape", Sizes{window.size.h, window.size.w}},
                                        {"pads", Sizes{h.before, w.before, h.after, w.after}},
                                        {"strides", Sizes{window.strides.h, window.strides.w}}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return call.builder.add(op, call.name(), {x}, constants, {h.output, w.output, channels}, attributes);
}

Window window_of(const OnnxCall& call, Size2d kernel) {
  return {kernel, call.size("strides"), call.size("dilation_rate"), call.is("padding", "same")};
}

/// The kernel, (out, in / groups, kh, kw), and the bias if the layer has one and it is wanted.
std::vector<std::string> add_weights(const OnnxCall& call, const char* kernel_name, bool with_bias = true) {
  const Tensor kernel = call.builder.weight(call.layer, kernel_name);  // (out, kh, kw, in / groups)
  std::vector<std::string> constants{
      call.builder.constant(cat(call.name(), "/", kernel_name), kernel.permute({0, 3, 1, 2}))};
  if (with_bias && call.builder.has_weight(call.layer, "bias"))
    constants.push_back(
        call.builder.constant(cat(call.name(), "/bias"), call.builder.weight(call.layer, "bias")));
  return constants;
}

OnnxValue add_filters(const OnnxCall& call, const Window& window, const std::vector<std::string>& constants,
                      std::int64_t filters, std::int64_t groups) {
  return add_window(call, "Conv", window, constants, filters,
                    {{"dilations", Sizes{window.dilation.h, window.dilation.w}}, {"group", groups}});
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
  const Window window{call.size("pool_size"), call.size("strides"), {1, 1}, call.is("padding", "same")};
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

OnnxValue onnx_conv2d(const OnnxCall& call) {
  return add_convolution(call, "kernel", call.config.at("groups").as_int());
}

OnnxValue onnx_depthwise_conv2d(const OnnxCall& call) {
  return add_convolution(call, "depthwise_kernel", call.input().shape.back());
}

OnnxValue onnx_separable_conv2d(const OnnxCall& call) {
  const char* const first = "depthwise_kernel";
  const OnnxCall depthwise{call.builder, call.layer, call.inputs, call.config, "/depthwise"};
  const Shape kernel = call.builder.weight(call.layer, first).shape();
  const std::vector<OnnxValue> filtered{add_filters(depthwise, window_of(call, {kernel[1], kernel[2]}),
                                                    add_weights(depthwise, first, false), kernel[0],
                                                    call.input().shape.back())};
  const OnnxCall pointwise{call.builder, call.layer, filtered, call.config};
  return add_activation(pointwise, add_filters(pointwise, {{1, 1}, {1, 1}, {1, 1}, false},
                                               add_weights(pointwise, "pointwise_kernel"),
                                               call.config.at("filters").as_int(), 1));
}

OnnxValue onnx_conv2d_transpose(const OnnxCall& call) {
  const Shape kernel = call.builder.weight(call.layer, "kernel").shape();  // (in, kh, kw, filters)
  const OnnxValue x = call.builder.channels_first(call.input());
  const Window window = window_of(call, {kernel[1], kernel[2]});
  Conv2dTransposeOptions options{.stride = window.strides,
                                 .padding = window.same ? Padding::same : Padding::valid,
                                 .dilation = window.dilation};
  if (!call.config.at("output_padding").is_null()) options.output_padding = call.size("output_padding");
  const Size2d in{x.shape[0], x.shape[1]}, out = conv2d_transpose_size(in, window.size, options);
  const TransposedAxis h = transposed(in.h, out.h, window.size.h, window.strides.h, window.dilation.h);
  const TransposedAxis w = transposed(in.w, out.w, window.size.w, window.strides.w, window.dilation.w);
  const Shape shape{out.h, out.w, kernel[3]};
  std::vector<OnnxAttribute> attributes{
      {"kernel_shape", Sizes{window.size.h, window.size.w}},
      {"output_padding", Sizes{h.more, w.more}},
      {"pads", Sizes{h.cut / 2, w.cut / 2, h.cut - h.cut / 2, w.cut - w.cut / 2}},
      {"strides", Sizes{window.strides.h, window.strides.w}}};
  if (window.dilation != Size2d{1, 1})
    attributes.push_back({"dilations", Sizes{window.dilation.h, window.dilation.w}});
  return add_activation(call, call.builder.add("ConvTranspose", call.name(), {x}, add_weights(call, "kernel"),
                                               shape, attributes));
}

OnnxValue onnx_max_pooling2d(const OnnxCall& call) {
  return add_pooling(call, "MaxPool");
}

/// Padding does not count in ONNX' mean either, unless asked for.
OnnxValue onnx_average_pooling2d(const OnnxCall& call) {
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

OnnxValue onnx_cropping2d(const OnnxCall& call) {
  const Cropping2DOptions& edges = dynamic_cast<const Cropping2D&>(call.layer).options();
  const OnnxValue& x = call.input();
  const std::int64_t h = x.shape[0] - edges.bottom, w = x.shape[1] - edges.right;
  std::vector<std::string> constants;
  const auto add = [&](const char* what, const Sizes& values) {
    constants.push_back(call.builder.graph().add_constant(cat(call.name(), what), values));
  };
  add("/starts", {edges.top, edges.left});
  add("/ends", {h, w});
  add("/axes", x.channels_first ? Sizes{2, 3} : Sizes{1, 2});
  return call.builder.add("Slice", call.name(), {x}, constants, {h - edges.top, w - edges.left, x.shape[2]});
}

/// Middles of pixels lie at 0.5, 1.5, ... by default; the first constant, a region, is left out.
OnnxValue onnx_up_sampling2d(const OnnxCall& call) {
  const Size2d size = call.size("size");
  const OnnxValue x = call.builder.channels_first(call.input());
  const std::vector<float> scales{1, 1, static_cast<float>(size.h), static_cast<float>(size.w)};
  const std::string constant =
      call.builder.constant(cat(call.name(), "/scales"), Tensor::from<float>({4}, scales));
  const std::string mode = call.is("interpolation", "nearest") ? "nearest" : "linear";
  return call.builder.add("Resize", call.name(), {x}, {"", constant},
                          {x.shape[0] * size.h, x.shape[1] * size.w, x.shape[2]}, {{"mode", mode}});
}

OnnxValue onnx_zero_padding2d(const OnnxCall& call) {
  const ZeroPadding2DOptions& zeros = dynamic_cast<const ZeroPadding2D&>(call.layer).options();
  const OnnxValue& x = call.input();
  // First what is put before each axis, then what is put behind it.
  const Sizes pads = x.channels_first ? Sizes{0, 0, zeros.top, zeros.left, 0, 0, zeros.bottom, zeros.right}
                                      : Sizes{0, zeros.top, zeros.left, 0, 0, zeros.bottom, zeros.right, 0};
  const std::string constant = call.builder.graph().add_constant(cat(call.name(), "/pads"), pads);
  const Shape shape{x.shape[0] + zeros.top + zeros.bottom, x.shape[1] + zeros.left + zeros.right, x.shape[2]};
  return call.builder.add("Pad", call.name(), {x}, {constant}, shape);
}

}  // namespace ronde::inline v0
