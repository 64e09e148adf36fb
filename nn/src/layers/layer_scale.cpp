#include <ronde/core/ops.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/layer_scale.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

LayerScale::LayerScale(LayerScaleOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.projection_dim >= 0, "[", label(),
                      "] projection_dim must not be negative, got ", options_.projection_dim);
}

void LayerScale::build_weights(const Shape& input, const BuildOptions& options) {
  const std::int64_t channels = input.back();
  require(options_.projection_dim == 0 || options_.projection_dim == channels, "[", label(),
          "] projection_dim is ", options_.projection_dim, ", the inputs ", input, " have ", channels,
          " channels");
  options_.projection_dim = channels;
  gamma_ = add_weight({.name = "gamma"}, {channels}, Initializer::constant(options_.init_values), options);
}

Variable LayerScale::forward(const Variable& x, const Context&) {
  require(x.rank() > 1 && x.shape().back() == options_.projection_dim, "[", label(),
          "] expects inputs (n, ..., ", options_.projection_dim, "), got ", x.shape());
  return x * cast(gamma_, x.dtype());
}

ConfigDict LayerScale::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("init_values", options_.init_values);
  config.emplace_back("projection_dim", options_.projection_dim);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<LayerScale>(const LayerConfig& config) {
  return std::make_unique<LayerScale>(LayerScaleOptions{.init_values = config.number("init_values"),
                                                        .projection_dim = config.integer("projection_dim")});
}

}  // namespace ronde::inline v0
