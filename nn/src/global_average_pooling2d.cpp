#include <ronde/nn/global_average_pooling2d.h>

#include "image_checks.h"
#include "layer_config.h"

namespace ronde::inline v0 {

Variable GlobalAveragePooling2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  return global_average_pool2d(x);
}

ConfigDict GlobalAveragePooling2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("data_format", "channels_last");
  return config;
}

template <>
std::unique_ptr<Module> read_layer<GlobalAveragePooling2D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  config.expect_false("keepdims");
  return std::make_unique<GlobalAveragePooling2D>();
}

}  // namespace ronde::inline v0
