#include <ronde/core/cuda.h>
#include <ronde/nn/weight_layout.h>

namespace ronde::inline v0 {

Shape keras_shape(const Shape& shape, WeightLayout layout, std::int64_t depth_multiplier) {
  switch (layout) {
    case WeightLayout::plain:
      return shape;
    case WeightLayout::conv:
      return {shape[1], shape[2], shape[3], shape[0]};
    case WeightLayout::conv1d:
      return {shape[2], shape[3], shape[0]};
    case WeightLayout::depthwise:
      return {shape[1], shape[2], shape[0] / depth_multiplier, depth_multiplier};
    case WeightLayout::depthwise1d:
      break;
  }
  return {shape[2], shape[0] / depth_multiplier, depth_multiplier};
}

Shape keras_shape(const Parameter& parameter) {
  return keras_shape(parameter.variable.shape(), parameter.layout, parameter.depth_multiplier);
}

namespace {

Tensor dense_copy(const Tensor& values) {
  const Tensor copy = Tensor::empty_once(values.shape(), values.options());
  copy.copy_from(values);
  return copy;
}

}  // namespace

Tensor to_keras_layout(const Parameter& parameter) {
  const Tensor value = on_host(parameter.variable.value());
  switch (parameter.layout) {
    case WeightLayout::plain:
      return dense_copy(value);
    case WeightLayout::conv:
    case WeightLayout::conv1d:
      return dense_copy(value.permute({1, 2, 3, 0})).reshape(keras_shape(parameter));
    case WeightLayout::depthwise:
    case WeightLayout::depthwise1d:
      break;
  }
  // (c * multiplier, kh, kw, 1) -> (c, multiplier, kh, kw) -> (kh, kw, c, multiplier)
  const Shape keras = keras_shape(parameter);
  const Tensor by_channel = value.reshape({keras[-2], keras[-1], value.size(1), value.size(2)});
  return dense_copy(by_channel.permute({2, 3, 0, 1})).reshape(keras);
}

void assign_keras_layout(Parameter& parameter, const Tensor& value) {
  const Shape expected = keras_shape(parameter);
  require(value.shape() == expected, "[", parameter.name, "] expects a weight of shape ", expected, ", got ",
          value.shape());
  Tensor memory = value;
  if (parameter.layout == WeightLayout::conv) memory = value.permute({3, 0, 1, 2});
  if (parameter.layout == WeightLayout::conv1d)
    memory = value.permute({2, 0, 1}).reshape(parameter.variable.shape());
  if (parameter.layout == WeightLayout::depthwise)
    memory = value.permute({2, 3, 0, 1}).reshape(parameter.variable.shape());
  if (parameter.layout == WeightLayout::depthwise1d)
    memory = value.permute({1, 2, 0}).reshape(parameter.variable.shape());
  parameter.variable.assign(memory);
}

}  // namespace ronde::inline v0
