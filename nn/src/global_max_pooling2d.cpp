#include <ronde/nn/global_max_pooling2d.h>

#include "image_checks.h"
#include "layer_config.h"

namespace ronde::inline v0 {

Variable GlobalMaxPooling2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  return max(x, {.axes = {1, 2}});
}

ConfigDict GlobalMaxPooling2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("data_format", "channels_last");
  return config;
}

template <>
std::unique_ptr<Module> read_layer<GlobalMaxPooling2D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  config.expect_false("keepdims");
  return std::make_unique<GlobalMaxPooling2D>();
}

}  // namespace ronde::inline v0
