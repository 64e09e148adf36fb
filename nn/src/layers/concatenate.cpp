#include <ronde/core/ops.h>
#include <ronde/nn/concatenate.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

Variable Concatenate::forward(const Variable& x, const Context&) {
  return x;
}

Variable Concatenate::join(const std::vector<Variable>& inputs, const Context&) {
  const Shape& first = inputs.front().shape();
  const int axis = axis_ < 0 ? axis_ + first.rank() : axis_;
  require(axis >= 0 && axis < first.rank(), "[", label(), "] inputs of shape ", first, " have no axis ",
          axis_);
  for (const Variable& input : inputs) {
    if (axis < first.rank() - 1) require_no_mask(input);
    bool fits = input.rank() == first.rank();
    for (int i = 0; fits && i < first.rank(); ++i) fits = i == axis || input.size(i) == first[i];
    require(fits, "[", label(), "] inputs of shapes ", first, " and ", input.shape(),
            " differ in more than axis ", axis_);
  }
  return concat(inputs, axis);
}

ConfigDict Concatenate::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("axis", axis_);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Concatenate>(const LayerConfig& config) {
  const std::int64_t axis = config.integer("axis", -1);
  if (axis == 0 || axis < -Shape::kMaxRank || axis >= Shape::kMaxRank)
    config.refuse("axis", cat(axis, " is not supported"));
  return std::make_unique<Concatenate>(static_cast<int>(axis));
}

}  // namespace ronde::inline v0
