#include <ronde/core/ops.h>
#include <ronde/nn/leaky_relu.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

LeakyReLU::LeakyReLU(double negative_slope) : negative_slope_(negative_slope) {
  require<UsageError>(negative_slope >= 0.0, "[leaky_re_lu] the slope must not be negative, got ",
                      negative_slope);
}

Variable LeakyReLU::forward(const Variable& x, const Context&) {
  return leaky_relu(x, negative_slope_);
}

/// `alpha` is Keras 2's word, which Keras 3 still takes.
ConfigDict LeakyReLU::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("alpha", negative_slope_);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<LeakyReLU>(const LayerConfig& config) {
  return std::make_unique<LeakyReLU>(config.number("alpha", config.number("negative_slope", 0.3)));
}

}  // namespace ronde::inline v0
