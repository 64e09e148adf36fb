#include <ronde/core/ops.h>
#include <ronde/nn/elu.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

Variable ELU::forward(const Variable& x, const Context&) {
  return elu(x, alpha_);
}

ConfigDict ELU::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("alpha", alpha_);
  return config;
}

/// Keras 3 leaves the default away.
template <>
std::unique_ptr<Module> read_layer<ELU>(const LayerConfig& config) {
  return std::make_unique<ELU>(config.number("alpha", 1.0));
}

}  // namespace ronde::inline v0
