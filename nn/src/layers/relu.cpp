#include <limits>

#include <ronde/core/ops.h>
#include <ronde/nn/relu.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

ReLU::ReLU(ReLUOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.max_value.value_or(0.0) >= 0.0, "[", label(),
                      "] max_value must not be negative, got ", options_.max_value.value_or(0.0));
  require<UsageError>(options_.negative_slope >= 0.0, "[", label(),
                      "] negative_slope must not be negative, got ", options_.negative_slope);
}

Variable ReLU::forward(const Variable& x, const Context&) {
  const double highest = options_.max_value.value_or(std::numeric_limits<double>::infinity());
  if (options_.negative_slope != 0.0) {
    const Variable y = leaky_relu(x, options_.negative_slope);
    return options_.max_value ? clamp(y, -std::numeric_limits<double>::infinity(), highest) : y;
  }
  return options_.max_value ? clipped_relu(x, highest) : relu(x);
}

ConfigDict ReLU::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("max_value", options_.max_value ? ConfigValue(*options_.max_value) : ConfigValue());
  config.emplace_back("negative_slope", options_.negative_slope);
  config.emplace_back("threshold", 0.0);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<ReLU>(const LayerConfig& config) {
  const double threshold = config.number("threshold", 0.0);
  if (threshold != 0.0) config.refuse("threshold", cat(threshold, " is not supported, only 0"));
  ReLUOptions options{.negative_slope = config.number("negative_slope", 0.0)};
  if (config.find("max_value") != nullptr) options.max_value = config.number("max_value", 0.0);
  return std::make_unique<ReLU>(options);
}

}  // namespace ronde::inline v0
