#include <algorithm>

#include <ronde/core/ops.h>
#include <ronde/nn/dot.h>

#include "layers/shapes.h"
#include "module/layer_config.h"
#include "module/unit_length.h"

namespace ronde::inline v0 {

namespace {

/// All axes of `shape` but the batch and `axis`.
Shape other_axes(const Shape& shape, std::int64_t axis) {
  Shape others;
  for (int i = 1; i < shape.rank(); ++i)
    if (i != axis) others.push_back(i);
  return others;
}

Shape extents_at(const Shape& shape, const Shape& axes) {
  Shape extents;
  for (const std::int64_t axis : axes) extents.push_back(shape[static_cast<int>(axis)]);
  return extents;
}

/// As a matrix for each sample, without a copy where it is that.
Variable as_matrices(const Variable& x, const Shape& shape) {
  return x.shape() == shape ? x : reshape(x, shape);
}

}  // namespace

Dot::Dot(DotOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  const Shape& axes = options_.axes;
  const bool is_batch = std::count(axes.begin(), axes.end(), 0) > 0;
  require<UsageError>((axes.rank() == 1 || axes.rank() == 2) && !is_batch, "[", label(),
                      "] axes must be one for both inputs or one of each, and not the batch, got ", axes);
}

Shape Dot::axes_of(const Shape& a, const Shape& b) const {
  const auto from_front = [](std::int64_t axis, const Shape& shape) {
    return axis < 0 ? axis + shape.rank() : axis;
  };
  const Shape axes{from_front(options_.axes[0], a), from_front(options_.axes.back(), b)};
  const bool are_there = axes[0] > 0 && axes[0] < a.rank() && axes[1] > 0 && axes[1] < b.rank();
  require(are_there && a[0] == b[0] && a[static_cast<int>(axes[0])] == b[static_cast<int>(axes[1])], "[",
          label(), "] cannot multiply inputs of shapes ", a, " and ", b, " along axes ", options_.axes);
  return axes;
}

Variable Dot::forward(const Variable& x, const Context& context) {
  return join({x}, context);
}

Variable Dot::join(const std::vector<Variable>& inputs, const Context&) {
  require(inputs.size() == 2, "[", label(), "] takes two inputs, got ", inputs.size());
  Variable a = inputs[0], b = inputs[1];
  const Shape axes = axes_of(a.shape(), b.shape());
  const Shape of_a = other_axes(a.shape(), axes[0]), of_b = other_axes(b.shape(), axes[1]);
  const Shape rows = extents_at(a.shape(), of_a), columns = extents_at(b.shape(), of_b);
  const std::int64_t n = a.size(0), k = a.size(static_cast<int>(axes[0]));
  if (options_.normalize) {
    a = unit_length(a, {axes[0]});
    b = unit_length(b, {axes[1]});
  }
  a = as_matrices(permute(a, behind(of_a.batch_of(0), {axes[0]})), {n, rows.count(), k});
  b = as_matrices(permute(b, behind({0, axes[1]}, of_b)), {n, k, columns.count()});
  const Shape result = behind(rows.batch_of(n), columns);
  return reshape(matmul(a, b), result.rank() == 1 ? Shape{n, 1} : result);
}

/// Keras reads a list of two axes, and no list of one.
ConfigDict Dot::config() const {
  const Shape& axes = options_.axes;
  ConfigDict config = layer_config(*this);
  config.emplace_back("axes", axes.rank() == 1 ? ConfigValue(axes[0]) : ConfigList(axes.begin(), axes.end()));
  config.emplace_back("normalize", options_.normalize);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Dot>(const LayerConfig& config) {
  return std::make_unique<Dot>(
      DotOptions{.axes = config.shape("axes", 2), .normalize = config.boolean("normalize", false)});
}

}  // namespace ronde::inline v0
