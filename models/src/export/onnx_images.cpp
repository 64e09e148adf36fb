// Convolutions, pooling and padding.
#include <algorithm>

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
    const std::int64_t output = (input + stride - 1) / stride;
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

OnnxValue add_convolution(const OnnxCall& call, const char* kernel_name, std::int64_t groups) {
  const Tensor kernel = call.builder.weight(call.layer, kernel_name);  // (out, kh, kw, in / groups)
  std::vector<std::string> constants{
      call.builder.constant(cat(call.name(), "/", kernel_name), kernel.permute({0, 3, 1, 2}))};
  if (call.builder.has_weight(call.layer, "bias"))
    constants.push_back(
        call.builder.constant(cat(call.name(), "/bias"), call.builder.weight(call.layer, "bias")));
  const Window window{{kernel.size(1), kernel.size(2)},
                      call.size("strides"),
                      call.size("dilation_rate"),
                      call.is("padding", "same")};
  const OnnxValue y =
      add_window(call, "Conv", window, constants, kernel.size(0),
                 {{"dilations", Sizes{window.dilation.h, window.dilation.w}}, {"group", groups}});
  return onnx_activation(call.builder, call.config.at("activation").as_string(), y, call.name());
}

OnnxValue add_pooling(const OnnxCall& call, const std::string& op) {
  const Window window{call.size("pool_size"), call.size("strides"), {1, 1}, call.is("padding", "same")};
  return add_window(call, op, window, {}, call.input().shape.back(), {});
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
