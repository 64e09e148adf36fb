// Layers that subtract and scale.
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/unit_normalization.h>

#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

/// x op values, which are a number or one for each channel.
OnnxValue with_channels(const OnnxCall& call, const std::string& op, const OnnxValue& x, const char* what,
                        const Tensor& values) {
  const std::string constant = call.builder.constant(cat(call.name(), "/", what), values);
  return call.builder.add(op, cat(call.name(), "/", op), {x}, {constant}, x.shape);
}

Tensor channels(const std::vector<double>& values) {
  return Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

OnnxValue onnx_batch_normalization(const OnnxCall& call) {
  OnnxBuilder& builder = call.builder;
  const OnnxValue x = builder.channels_first(call.input());
  const Shape channels{x.shape.back()};
  std::vector<std::string> constants;
  const auto add = [&](const char* name, double otherwise) {
    const bool given = builder.has_weight(call.layer, name);
    constants.push_back(
        builder.constant(cat(call.name(), "/", name),
                         given ? builder.weight(call.layer, name) : Tensor::full(channels, otherwise)));
  };
  add("gamma", 1.0);
  add("beta", 0.0);
  add("moving_mean", 0.0);
  add("moving_variance", 1.0);
  const auto epsilon = static_cast<float>(call.config.at("epsilon").as_double());
  return builder.add("BatchNormalization", call.name(), {x}, constants, x.shape, {{"epsilon", epsilon}});
}

OnnxValue onnx_normalization(const OnnxCall& call) {
  const auto& layer = dynamic_cast<const Normalization&>(call.layer);
  const Tensor mean = layer.mean().value(), deviation = layer.deviation().value();
  const OnnxValue x = call.builder.channels_last(call.input());
  if (layer.options().invert)
    return with_channels(call, "Add", with_channels(call, "Mul", x, "deviation", deviation), "mean", mean);
  return with_channels(call, "Div", with_channels(call, "Sub", x, "mean", mean), "deviation", deviation);
}

OnnxValue onnx_rescaling(const OnnxCall& call) {
  const RescalingOptions& options = dynamic_cast<const Rescaling&>(call.layer).options();
  const OnnxValue x = call.builder.channels_last(call.input());
  return with_channels(call, "Add", with_channels(call, "Mul", x, "scale", channels(options.scale)), "offset",
                       channels(options.offset));
}

OnnxValue onnx_layer_scale(const OnnxCall& call) {
  return with_channels(call, "Mul", call.builder.channels_last(call.input()), "gamma",
                       call.builder.weight(call.layer, "gamma"));
}

/// Opset 13 has an operator for channels one by one: it gets the groups as those.
OnnxValue onnx_group_normalization(const OnnxCall& call) {
  OnnxBuilder& builder = call.builder;
  const auto& layer = dynamic_cast<const GroupNormalization&>(call.layer);
  const OnnxValue x = builder.channels_first(call.input());
  const std::int64_t channels = x.shape.back(), groups = layer.groups_of(channels);
  const auto of_groups = [&](const char* what, double value) {
    return builder.constant(cat(call.name(), "/", what), Tensor::full({groups}, value));
  };
  const auto epsilon = static_cast<float>(layer.options().epsilon);
  OnnxValue y = onnx_reshaped(builder, x, {0, groups, -1}, x.shape, cat(call.name(), "/groups"));
  y = builder.add("InstanceNormalization", cat(call.name(), "/normalised"), {y},
                  {of_groups("ones", 1.0), of_groups("zeros", 0.0)}, x.shape, {{"epsilon", epsilon}});
  Shape image{channels}, weights{channels};
  for (int axis = 0; axis + 1 < x.shape.rank(); ++axis) image.push_back(x.shape[axis]), weights.push_back(1);
  y = onnx_reshaped(builder, y, image.batch_of(0), x.shape, cat(call.name(), "/channels"));
  for (const auto& [name, op] : {std::pair{"gamma", "Mul"}, {"beta", "Add"}})
    if (builder.has_weight(layer, name))
      y = with_channels(call, op, y, name, builder.weight(layer, name).reshape(weights));
  return y;
}

OnnxValue onnx_rms_normalization(const OnnxCall& call) {
  const auto& layer = dynamic_cast<const RMSNormalization&>(call.layer);
  const OnnxValue x = call.builder.channels_last(call.input());
  const auto step = [&](const char* op, const char* what, const std::vector<OnnxValue>& inputs,
                        std::vector<OnnxAttribute> attributes = {}) {
    return call.builder.add(op, cat(call.name(), "/", what), inputs, {}, x.shape, std::move(attributes));
  };
  const OnnxValue mean = step("ReduceMean", "mean_square", {step("Mul", "squared", {x, x})},
                              {{"axes", std::vector<std::int64_t>{-1}}});
  const OnnxValue shifted =
      with_channels(call, "Add", mean, "epsilon", Tensor::full({}, layer.options().epsilon));
  const OnnxValue y = step("Div", "normalised", {x, step("Sqrt", "root", {shifted})});
  return with_channels(call, "Mul", y, "scale", call.builder.weight(layer, "scale"));
}

OnnxValue onnx_unit_length(OnnxBuilder& builder, const OnnxValue& value,
                           const std::vector<std::int64_t>& axes, const std::string& name) {
  const OnnxValue length =
      builder.add("ReduceL2", cat(name, "/length"), {value}, {}, value.shape, {{"axes", axes}});
  const std::string least = builder.constant("constant/least_length", Tensor::full({}, 1e-6));
  const OnnxValue limited = builder.add("Max", cat(name, "/bound"), {length}, {least}, value.shape);
  return builder.add("Div", name, {value, limited}, {}, value.shape);
}

OnnxValue onnx_unit_normalization(const OnnxCall& call) {
  const auto& layer = dynamic_cast<const UnitNormalization&>(call.layer);
  return onnx_unit_length(call.builder, call.builder.channels_last(call.input()), layer.options().axes,
                          call.name());
}

/// Opset 13 has no operator for it.
OnnxValue onnx_layer_normalization(const OnnxCall& call) {
  OnnxBuilder& builder = call.builder;
  const LayerNormalizationOptions& options = dynamic_cast<const LayerNormalization&>(call.layer).options();
  const OnnxValue x = builder.channels_last(call.input());
  const auto count = static_cast<std::int64_t>(options.axes.size());
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = -count; axis < 0; ++axis) axes.push_back(axis);
  const auto step = [&](const char* op, const char* what, const std::vector<OnnxValue>& inputs,
                        std::vector<OnnxAttribute> attributes = {}) {
    return builder.add(op, cat(call.name(), "/", what), inputs, {}, x.shape, std::move(attributes));
  };
  const OnnxValue centred = step("Sub", "centred", {x, step("ReduceMean", "mean", {x}, {{"axes", axes}})});
  const OnnxValue squared = step("Mul", "squared", {centred, centred});
  const OnnxValue variance = step("ReduceMean", "variance", {squared}, {{"axes", axes}});
  const OnnxValue shifted =
      with_channels(call, "Add", variance, "epsilon", Tensor::full({}, options.epsilon));
  OnnxValue y = step("Div", "normalised", {centred, step("Sqrt", "deviation", {shifted})});
  if (options.scale) y = with_channels(call, "Mul", y, "gamma", builder.weight(call.layer, "gamma"));
  if (options.center) y = with_channels(call, "Add", y, "beta", builder.weight(call.layer, "beta"));
  return y;
}

}  // namespace ronde::inline v0
