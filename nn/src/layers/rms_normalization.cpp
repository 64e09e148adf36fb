#include <ronde/core/ops.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/rms_normalization.h>

#include "layers/image_checks.h"
#include "layers/layer_checks.h"
#include "module/layer_config.h"
#include "module/precise.h"

namespace ronde::inline v0 {

RMSNormalization::RMSNormalization(RMSNormalizationOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.epsilon >= 0.0, "[", label(), "] epsilon must not be negative, got ",
                      options_.epsilon);
}

void RMSNormalization::build_weights(const Shape& input, const BuildOptions& options) {
  require_last_axis(*this, options_.axis, input);
  scale_ = add_weight({.name = "scale"}, {input.back()}, Initializer::ones, options);
}

Variable RMSNormalization::forward(const Variable& x, const Context&) {
  require_channels(*this, x, scale_.size(0));
  const Variable wide = precise(x);
  const Variable squares = mean(square(wide), {.axes = {-1}, .keep_dims = true});
  return cast(wide * pow(squares + options_.epsilon, -0.5) * cast(scale_, wide.dtype()), x.dtype());
}

ConfigDict RMSNormalization::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("axis", -1);
  config.emplace_back("epsilon", options_.epsilon);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<RMSNormalization>(const LayerConfig& config) {
  return std::make_unique<RMSNormalization>(
      RMSNormalizationOptions{.axis = config.axis(), .epsilon = config.number("epsilon", 1e-6)});
}

}  // namespace ronde::inline v0
