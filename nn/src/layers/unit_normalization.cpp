#include <ronde/nn/unit_normalization.h>

#include "module/layer_config.h"
#include "module/unit_length.h"

namespace ronde::inline v0 {

namespace {

/// `axes` of inputs of that shape, with the numbers that they have there.
Shape unit_axes(const Module& layer, const std::vector<std::int64_t>& axes, const Shape& input) {
  Shape found;
  for (const std::int64_t given : axes) {
    const std::int64_t axis = given + (given < 0 ? input.rank() : 0);
    require<UsageError>(axis > 0 && axis < input.rank(), "[", layer.label(), "] axis: inputs ", input,
                        " have no axis ", given, " behind the batch");
    for (const std::int64_t other : found)
      require<UsageError>(axis != other, "[", layer.label(), "] axis: ", axis, " is there twice");
    found.push_back(axis);
  }
  return found;
}

}  // namespace

UnitNormalization::UnitNormalization(UnitNormalizationOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(!options_.axes.empty() && options_.axes.size() < Shape::kMaxRank, "[", label(),
                      "] needs an axis to normalise over, got ", options_.axes.size());
}

Variable UnitNormalization::forward(const Variable& x, const Context&) {
  return unit_length(x, unit_axes(*this, options_.axes, x.shape()));
}

ConfigDict UnitNormalization::config() const {
  ConfigDict config = layer_config(*this);
  const std::vector<std::int64_t>& axes = options_.axes;
  config.emplace_back("axis", axes.size() == 1 ? ConfigValue(axes.front())
                                               : ConfigValue(ConfigList(axes.begin(), axes.end())));
  return config;
}

template <>
std::unique_ptr<Module> read_layer<UnitNormalization>(const LayerConfig& config) {
  UnitNormalizationOptions options;
  if (config.find("axis") != nullptr) options.axes = config.integers("axis");
  return std::make_unique<UnitNormalization>(std::move(options));
}

}  // namespace ronde::inline v0
