// Cropping, padding and upsampling, of images and of sequences.
#include <ronde/core/ops.h>
#include <ronde/nn/cropping1d.h>
#include <ronde/nn/cropping2d.h>
#include <ronde/nn/zero_padding1d.h>
#include <ronde/nn/zero_padding2d.h>

#include "export/onnx_axes.h"
#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

/// Steps of a sequence, as columns.
Margins2d columns(std::int64_t front, std::int64_t back) {
  return {.left = front, .right = back};
}

OnnxValue add_cropping(const OnnxCall& call, const Margins2d& edges) {
  const OnnxValue& x = call.input();
  const Size2d image = image_size(x.shape);
  const Size2d begin{edges.top, edges.left}, end{image.h - edges.bottom, image.w - edges.right};
  std::vector<std::string> constants;
  const auto add = [&](const char* what, const Sizes& values) {
    constants.push_back(call.builder.graph().add_constant(cat(call.name(), what), values));
  };
  add("/starts", axes_of(x.shape, begin));
  add("/ends", axes_of(x.shape, end));
  const std::int64_t first = x.channels_first ? 2 : 1;
  add("/axes", is_sequence(x.shape) ? Sizes{first} : Sizes{first, first + 1});
  return call.builder.add("Slice", call.name(), {x}, constants,
                          shape_like(x.shape, {end.h - begin.h, end.w - begin.w}, x.shape.back()));
}

OnnxValue add_padding(const OnnxCall& call, const Margins2d& zeros) {
  const OnnxValue& x = call.input();
  Sizes pads;
  for (const Size2d& side : {Size2d{zeros.top, zeros.left}, Size2d{zeros.bottom, zeros.right}}) {
    pads.push_back(0);  // of the batch
    if (x.channels_first) pads.push_back(0);
    for (const std::int64_t zero : axes_of(x.shape, side)) pads.push_back(zero);
    if (!x.channels_first) pads.push_back(0);
  }
  const std::string constant = call.builder.graph().add_constant(cat(call.name(), "/pads"), pads);
  const Size2d image = image_size(x.shape);
  const Size2d padded{zeros.top + image.h + zeros.bottom, zeros.left + image.w + zeros.right};
  return call.builder.add("Pad", call.name(), {x}, {constant}, shape_like(x.shape, padded, x.shape.back()));
}

/// Middles of pixels lie at 0.5, 1.5, ... by default; the first constant, a region, is left out.
OnnxValue add_resize(const OnnxCall& call, Size2d size, const char* mode) {
  const OnnxValue x = call.builder.channels_first(call.input());
  std::vector<float> scales{1, 1};
  for (const std::int64_t scale : axes_of(x.shape, size)) scales.push_back(static_cast<float>(scale));
  const Shape extent{static_cast<std::int64_t>(scales.size())};
  const std::string constant =
      call.builder.constant(cat(call.name(), "/scales"), Tensor::from<float>(extent, scales));
  const Size2d image = image_size(x.shape);
  return call.builder.add("Resize", call.name(), {x}, {"", constant},
                          shape_like(x.shape, {image.h * size.h, image.w * size.w}, x.shape.back()),
                          {{"mode", std::string(mode)}});
}

}  // namespace

OnnxValue onnx_cropping1d(const OnnxCall& call) {
  const Cropping1DOptions& edges = dynamic_cast<const Cropping1D&>(call.layer).options();
  return add_cropping(call, columns(edges.front, edges.back));
}

OnnxValue onnx_cropping2d(const OnnxCall& call) {
  const Cropping2DOptions& edges = dynamic_cast<const Cropping2D&>(call.layer).options();
  return add_cropping(call, {edges.top, edges.bottom, edges.left, edges.right});
}

OnnxValue onnx_up_sampling1d(const OnnxCall& call) {
  return add_resize(call, {1, call.config.at("size").as_int()}, "nearest");
}

OnnxValue onnx_up_sampling2d(const OnnxCall& call) {
  return add_resize(call, call.size("size"), call.is("interpolation", "nearest") ? "nearest" : "linear");
}

OnnxValue onnx_zero_padding1d(const OnnxCall& call) {
  const ZeroPadding1DOptions& zeros = dynamic_cast<const ZeroPadding1D&>(call.layer).options();
  return add_padding(call, columns(zeros.front, zeros.back));
}

OnnxValue onnx_zero_padding2d(const OnnxCall& call) {
  return add_padding(call, dynamic_cast<const ZeroPadding2D&>(call.layer).margins());
}

}  // namespace ronde::inline v0
