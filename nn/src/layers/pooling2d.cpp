#include "layers/pooling2d.h"

#include "layers/image_checks.h"

namespace ronde::inline v0 {

void check_pooling(const Module& layer, const Pooling2DOptions& options) {
  require_positive(layer, "pool", options.pool);
  require_positive(layer, "strides", options.strides.value_or(options.pool));
}

Pool2dOptions pooling_window(const Module& layer, const Pooling2DOptions& options, const Shape& input) {
  require_images(layer, input);
  require_window_fits(layer, input, options.pool, {1, 1}, options.padding);
  return {.window = options.pool, .stride = options.strides, .padding = options.padding};
}

ConfigDict pooling_config(const Module& layer, const Pooling2DOptions& options) {
  ConfigDict config = layer_config(layer);
  config.emplace_back("pool_size", pair(options.pool));
  config.emplace_back("strides", pair(options.strides.value_or(options.pool)));
  config.emplace_back("padding", to_string(options.padding));
  config.emplace_back("data_format", "channels_last");
  return config;
}

Pooling2DOptions read_pooling(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  return {.pool = config.size("pool_size", {2, 2}),
          .strides = config.size("strides"),
          .padding = config.padding()};
}

}  // namespace ronde::inline v0
