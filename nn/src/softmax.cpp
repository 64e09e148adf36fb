#include <ronde/core/ops.h>
#include <ronde/nn/softmax.h>

#include "layer_config.h"

namespace ronde::inline v0 {

Variable Softmax::forward(const Variable& x, const Context&) {
  return softmax(x);
}

ConfigDict Softmax::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("axis", -1);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Softmax>(const LayerConfig& config) {
  config.expect_last_axis("axis");
  return std::make_unique<Softmax>();
}

}  // namespace ronde::inline v0
