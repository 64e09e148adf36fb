#include <ronde/core/ops.h>
#include <ronde/nn/softmax.h>

#include "layers/image_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

void Softmax::build_weights(const Shape& input, const BuildOptions&) {
  require_last_axis(*this, axis_, input);
}

Variable Softmax::forward(const Variable& x, const Context&) {
  require_no_mask(x);
  return softmax(x);
}

ConfigDict Softmax::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("axis", -1);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Softmax>(const LayerConfig& config) {
  if (config.is_null("axis")) config.refuse("axis", "of all axes at once is not supported");
  return std::make_unique<Softmax>(config.axis());
}

}  // namespace ronde::inline v0
