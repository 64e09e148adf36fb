#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

/// Whether there are axes to put in another order: (h, w, c) or (steps, c).
bool has_channel_axis(const Shape& shape) {
  return shape.rank() >= 2;
}

/// For Transpose: the last axis to the place behind the batch, or back.
std::vector<std::int64_t> permutation(int rank, bool channels_first) {
  std::vector<std::int64_t> axes{0};
  if (channels_first) axes.push_back(rank);
  for (std::int64_t axis = channels_first ? 1 : 2; axis < rank + (channels_first ? 0 : 1); ++axis)
    axes.push_back(axis);
  if (!channels_first) axes.push_back(1);
  return axes;
}

/// "conv2d/kernel" of the layer conv2d -> "kernel"
std::string name_in(const Module& layer, const Parameter& weight) {
  return layer.path().empty() ? weight.name : weight.name.substr(layer.path().size() + 1);
}

}  // namespace

OnnxValue OnnxBuilder::with_axes(const OnnxValue& value, bool channels_first) {
  if (!has_channel_axis(value.shape) || value.channels_first == channels_first) return value;
  const auto [found, added] = transposed_.emplace(value.name, "");
  if (added) {
    found->second =
        graph_.add_node("Transpose", cat(value.name, channels_first ? "/channels_first" : "/channels_last"),
                        {value.name}, {{"perm", permutation(value.shape.rank(), channels_first)}});
    transposed_.emplace(found->second, value.name);  // and back for nothing
  }
  return {found->second, value.shape, channels_first};
}

OnnxValue OnnxBuilder::add(const std::string& op, const std::string& name,
                           const std::vector<OnnxValue>& inputs, const std::vector<std::string>& constants,
                           const Shape& shape, std::vector<OnnxAttribute> attributes) {
  std::vector<std::string> names;
  for (const OnnxValue& input : inputs) names.push_back(input.name);
  names.insert(names.end(), constants.begin(), constants.end());
  return {graph_.add_node(op, name, std::move(names), std::move(attributes)), shape,
          inputs.front().channels_first && has_channel_axis(shape)};
}

Tensor OnnxBuilder::weight(const Module& layer, const std::string& name) const {
  for (const Parameter& weight : layer.parameters())
    if (name_in(layer, weight) == name) return weight.variable.value();
  throw Error(cat("[onnx] layer ", layer.label(), " has no weight ", name, ": build the net first"));
}

bool OnnxBuilder::has_weight(const Module& layer, const std::string& name) const {
  for (const Parameter& weight : layer.parameters())
    if (name_in(layer, weight) == name) return true;
  return false;
}

std::string OnnxBuilder::constant(const std::string& name, const Tensor& values) {
  const auto [found, added] = constants_.emplace(name, "");
  if (added) found->second = graph_.add_constant(name, values);
  return found->second;
}

Size2d OnnxCall::size(const char* key) const {
  const ConfigList& list = config.at(key).as_list();
  return {list.size() == 1 ? 1 : list.front().as_int(), list.back().as_int()};
}

}  // namespace ronde::inline v0
