#include "layers/global_pooling.h"

namespace ronde::inline v0 {

ConfigDict global_pooling_config(const Module& layer, const GlobalPoolingOptions& options) {
  ConfigDict config = layer_config(layer);
  config.emplace_back("data_format", "channels_last");
  if (options.keepdims) config.emplace_back("keepdims", true);
  return config;
}

GlobalPoolingOptions read_global_pooling(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  return {.keepdims = config.boolean("keepdims", false)};
}

}  // namespace ronde::inline v0
