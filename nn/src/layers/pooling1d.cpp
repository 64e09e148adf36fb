#include "layers/pooling1d.h"

#include "layers/sequences.h"

namespace ronde::inline v0 {

void check_pooling(const Module& layer, const Pooling1DOptions& options) {
  require_positive(layer, "pool", options.pool);
  require_positive(layer, "strides", options.strides.value_or(options.pool));
}

Pool2dOptions pooling_window(const Module& layer, const Pooling1DOptions& options, const Shape& input) {
  if (options.padding == Padding::valid) require_window_fits(layer, input[1], options.pool);
  return {.window = {1, options.pool},
          .stride = Size2d{1, options.strides.value_or(options.pool)},
          .padding = options.padding};
}

ConfigDict pooling_config(const Module& layer, const Pooling1DOptions& options) {
  ConfigDict config = layer_config(layer);
  config.emplace_back("pool_size", ConfigList{options.pool});
  config.emplace_back("strides", ConfigList{options.strides.value_or(options.pool)});
  config.emplace_back("padding", to_string(options.padding));
  config.emplace_back("data_format", "channels_last");
  return config;
}

Pooling1DOptions read_pooling1d(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  const std::int64_t pool = config.extent("pool_size", 2);
  return {.pool = pool, .strides = config.extent("strides", pool), .padding = config.padding()};
}

}  // namespace ronde::inline v0
