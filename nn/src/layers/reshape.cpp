#include <algorithm>

#include <ronde/core/ops.h>
#include <ronde/nn/reshape.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

Reshape::Reshape(ReshapeOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  const Shape& target = options_.target_shape;
  const bool known =
      std::all_of(target.begin(), target.end(), [](std::int64_t n) { return n > 0 || n == -1; });
  require<UsageError>(known && std::count(target.begin(), target.end(), -1) <= 1, "[", label(),
                      "] target_shape must have positive extents and at most one -1, got ", target);
}

Shape Reshape::shape_for(const Shape& input) const {
  Shape shape = options_.target_shape;
  std::int64_t* open = nullptr;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == -1) open = &shape[axis];
  if (open != nullptr) {
    *open = 1;
    *open = input.count() / shape.count();
  }
  require(shape.count() == input.count(), "[", label(), "] cannot make ", options_.target_shape,
          " of inputs of shape ", input);
  return shape;
}

Variable Reshape::forward(const Variable& x, const Context&) {
  require(x.rank() >= 1, "[", label(), "] expects a batch (n, ...), got a scalar");
  return reshape(x, shape_for(x.shape().tail(1)).batch_of(x.size(0)));
}

ConfigDict Reshape::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("target_shape", ConfigList(options_.target_shape.begin(), options_.target_shape.end()));
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Reshape>(const LayerConfig& config) {
  return std::make_unique<Reshape>(ReshapeOptions{.target_shape = config.shape("target_shape")});
}

}  // namespace ronde::inline v0
