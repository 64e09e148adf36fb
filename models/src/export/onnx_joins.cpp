// Layers with several inputs.
#include <algorithm>

#include <ronde/nn/dot.h>
#include <ronde/nn/merge.h>

#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

/// All inputs with their axes as those of the first.
std::vector<OnnxValue> aligned(const OnnxCall& call) {
  std::vector<OnnxValue> values;
  for (const OnnxValue& input : call.inputs)
    values.push_back(call.input().channels_first ? call.builder.channels_first(input)
                                                 : call.builder.channels_last(input));
  return values;
}

/// ((a op b) op c) ...; `name` is that of the last.
OnnxValue merged(const OnnxCall& call, const char* op, const std::string& name) {
  const std::vector<OnnxValue> inputs = aligned(call);
  OnnxValue result = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i)
    result = call.builder.add(op, i + 1 == inputs.size() ? name : cat(name, "/", i), {result, inputs[i]}, {},
                              broadcast_shapes(result.shape, inputs[i].shape));
  return result;
}

/// One letter for each axis: that at `summed` is k, the batch n, the others from `first` on.
std::string letters(int rank, std::int64_t summed, char first) {
  std::string all = "n";
  for (int axis = 1; axis < rank; ++axis) all += axis == summed ? 'k' : first++;
  return all;
}

std::string without_sum(std::string letters) {
  std::erase(letters, 'k');
  return letters;
}

Shape without_axis(const Shape& shape, std::int64_t axis) {
  Shape rest;
  for (int i = 0; i < shape.rank(); ++i)
    if (i + 1 != axis) rest.push_back(shape[i]);
  return rest;
}

}  // namespace

OnnxValue onnx_dot(const OnnxCall& call) {
  OnnxBuilder& builder = call.builder;
  OnnxValue a = builder.channels_last(call.inputs.at(0)), b = builder.channels_last(call.inputs.at(1));
  const auto& layer = dynamic_cast<const Dot&>(call.layer);
  const Shape axes = layer.axes_of(a.shape.batch_of(0), b.shape.batch_of(0));
  if (layer.options().normalize) {
    a = onnx_unit_length(builder, a, {axes[0]}, cat(call.name(), "/a"));
    b = onnx_unit_length(builder, b, {axes[1]}, cat(call.name(), "/b"));
  }
  const std::string of_a = letters(a.shape.rank() + 1, axes[0], 'a');
  const std::string of_b = letters(b.shape.rank() + 1, axes[1], 'o');
  const std::string result = without_sum(of_a) + without_sum(of_b).substr(1);
  Shape shape = without_axis(a.shape, axes[0]);
  for (const std::int64_t extent : without_axis(b.shape, axes[1])) shape.push_back(extent);
  const std::string name = shape.rank() > 0 ? call.name() : cat(call.name(), "/product");
  const OnnxValue y =
      builder.add("Einsum", name, {a, b}, {}, shape, {{"equation", cat(of_a, ",", of_b, "->", result)}});
  if (shape.rank() > 0) return y;
  const std::string axis =
      builder.graph().add_constant(cat(call.name(), "/axis"), std::vector<std::int64_t>{1});
  return builder.add("Unsqueeze", call.name(), {y}, {axis}, {1});
}

OnnxValue onnx_add(const OnnxCall& call) {
  return merged(call, "Add", call.name());
}

OnnxValue onnx_subtract(const OnnxCall& call) {
  return merged(call, "Sub", call.name());
}

OnnxValue onnx_multiply(const OnnxCall& call) {
  return merged(call, "Mul", call.name());
}

OnnxValue onnx_maximum(const OnnxCall& call) {
  return merged(call, "Max", call.name());
}

OnnxValue onnx_minimum(const OnnxCall& call) {
  return merged(call, "Min", call.name());
}

OnnxValue onnx_average(const OnnxCall& call) {
  const OnnxValue sum = merged(call, "Add", cat(call.name(), "/sum"));
  const std::string count = call.builder.constant(cat(call.name(), "/count"),
                                                  Tensor::full({}, static_cast<double>(call.inputs.size())));
  return call.builder.add("Div", call.name(), {sum}, {count}, sum.shape);
}

OnnxValue onnx_custom_scale_layer(const OnnxCall& call) {
  const std::vector<OnnxValue> inputs = aligned(call);
  const std::string scale =
      call.builder.constant(cat(call.name(), "/scale"),
                            Tensor::full({}, dynamic_cast<const CustomScaleLayer&>(call.layer).scale()));
  const OnnxValue scaled =
      call.builder.add("Mul", cat(call.name(), "/scaled"), {inputs.at(1)}, {scale}, inputs.at(1).shape);
  return call.builder.add("Add", call.name(), {inputs.at(0), scaled}, {},
                          broadcast_shapes(inputs.at(0).shape, inputs.at(1).shape));
}

OnnxValue onnx_concatenate(const OnnxCall& call) {
  const std::vector<OnnxValue> inputs = aligned(call);
  const int axes = inputs.front().shape.rank() + 1;  // with the batch
  const auto given = static_cast<int>(call.config.at("axis").as_int());
  const int axis = given < 0 ? given + axes : given;
  require(axis > 0, "[onnx] layer ", call.name(), " concatenates batches, which cannot be exported");
  Shape shape = inputs.front().shape;
  for (std::size_t i = 1; i < inputs.size(); ++i) shape[axis - 1] += inputs[i].shape[axis - 1];

  std::int64_t place = axis;
  if (inputs.front().channels_first) place = axis == axes - 1 ? 1 : axis + 1;
  return call.builder.add("Concat", call.name(), inputs, {}, shape, {{"axis", place}});
}

}  // namespace ronde::inline v0
