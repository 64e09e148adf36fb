#include <algorithm>
#include <limits>

#include <ronde/core/ops.h>
#include <ronde/nn/merge.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

/// Extents may differ where one is 1, but those of the batch; else an error that names the layer and both
/// shapes.
void require_mergeable(const Module& layer, const Shape& a, const Shape& b) {
  bool fits = a.rank() == b.rank();
  for (int axis = 0; fits && axis < a.rank(); ++axis)
    fits = a[axis] == b[axis] || (axis > 0 && (a[axis] == 1 || b[axis] == 1));
  require(fits, "[", layer.label(), "] cannot merge inputs of shapes ", a, " and ", b);
}

}  // namespace

Variable Merge::forward(const Variable& x, const Context& context) {
  return join({x}, context);
}

Variable Merge::join(const std::vector<Variable>& inputs, const Context&) {
  require(inputs.size() >= 2 && inputs.size() <= most_inputs(), "[", label(), "] takes ",
          most_inputs() == 2 ? "two inputs" : "two inputs or more", ", got ", inputs.size());
  Variable merged = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    require_mergeable(*this, merged.shape(), inputs[i].shape());
    merged = merge(merged, inputs[i]);
  }
  return finish(merged, inputs.size());
}

Variable Merge::finish(const Variable& merged, std::size_t) const {
  return merged;
}

std::size_t Merge::most_inputs() const {
  return std::numeric_limits<std::size_t>::max();
}

ConfigDict Merge::config() const {
  return layer_config(*this);
}

Variable Add::merge(const Variable& a, const Variable& b) const {
  return a + b;
}

Variable Add::join_with_relu(const Variable& a, const Variable& b) const {
  require_mergeable(*this, a.shape(), b.shape());
  return add_relu(a, b);
}

Variable Subtract::merge(const Variable& a, const Variable& b) const {
  return a - b;
}
std::size_t Subtract::most_inputs() const {
  return 2;
}

Variable Multiply::merge(const Variable& a, const Variable& b) const {
  return a * b;
}

Variable Average::merge(const Variable& a, const Variable& b) const {
  return a + b;
}
Variable Average::finish(const Variable& merged, std::size_t inputs) const {
  return merged * (1.0 / static_cast<double>(inputs));
}

Variable Maximum::merge(const Variable& a, const Variable& b) const {
  return maximum(a, b);
}

Variable Minimum::merge(const Variable& a, const Variable& b) const {
  return minimum(a, b);
}

Variable CustomScaleLayer::merge(const Variable& a, const Variable& b) const {
  return a + b * scale_;
}
std::size_t CustomScaleLayer::most_inputs() const {
  return 2;
}
ConfigDict CustomScaleLayer::config() const {
  ConfigDict config = Merge::config();
  config.emplace_back("scale", scale_);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Add>(const LayerConfig&) {
  return std::make_unique<Add>();
}
template <>
std::unique_ptr<Module> read_layer<Subtract>(const LayerConfig&) {
  return std::make_unique<Subtract>();
}
template <>
std::unique_ptr<Module> read_layer<Multiply>(const LayerConfig&) {
  return std::make_unique<Multiply>();
}
template <>
std::unique_ptr<Module> read_layer<Average>(const LayerConfig&) {
  return std::make_unique<Average>();
}
template <>
std::unique_ptr<Module> read_layer<Maximum>(const LayerConfig&) {
  return std::make_unique<Maximum>();
}
template <>
std::unique_ptr<Module> read_layer<Minimum>(const LayerConfig&) {
  return std::make_unique<Minimum>();
}
template <>
std::unique_ptr<Module> read_layer<CustomScaleLayer>(const LayerConfig& config) {
  return std::make_unique<CustomScaleLayer>(config.number("scale"));
}

}  // namespace ronde::inline v0
