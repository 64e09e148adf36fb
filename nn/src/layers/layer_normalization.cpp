#include <ronde/core/ops.h>
#include <ronde/nn/layer_normalization.h>

#include "layers/norm_options.h"

namespace ronde::inline v0 {

LayerNormalization::LayerNormalization(LayerNormalizationOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(!options_.axes.empty(), "[", label(), "] needs an axis to normalise over");
  require<UsageError>(options_.epsilon >= 0.0, "[", label(), "] epsilon must not be negative, got ",
                      options_.epsilon);
}

void LayerNormalization::build_weights(const Shape& input, const BuildOptions& options) {
  std::vector<std::int64_t> axes = options_.axes;
  for (std::int64_t& axis : axes) axis += axis < 0 ? input.rank() : 0;
  const auto count = static_cast<std::int64_t>(axes.size());
  for (std::int64_t i = 0; i < count; ++i)
    require<UsageError>(count < input.rank() && axes[static_cast<std::size_t>(i)] == input.rank() - count + i,
                        "[", label(), "] axis: only the last axes of inputs ", input,
                        " are supported, without the batch");
  features_ = input.tail(input.rank() - static_cast<int>(count));
  const auto add = [&](const char* name, const Initializer& initializer, const Regularizer& regularizer) {
    return add_weight({.name = name, .regularizer = regularizer}, features_, initializer, options);
  };
  if (options_.scale) gamma_ = add("gamma", options_.gamma_initializer, options_.gamma_regularizer);
  if (options_.center) beta_ = add("beta", options_.beta_initializer, options_.beta_regularizer);
}

Variable LayerNormalization::forward(const Variable& x, const Context&) {
  const int axes = features_.rank();
  require(x.rank() > axes && x.shape().tail(x.rank() - axes) == features_, "[", label(),
          "] expects inputs (n, ...) that end with ", features_, ", got ", x.shape());
  return layer_norm(x, gamma_, beta_, {.axes = axes, .epsilon = options_.epsilon});
}

ConfigDict LayerNormalization::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("axis", ConfigList(options_.axes.begin(), options_.axes.end()));
  append_norm(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<LayerNormalization>(const LayerConfig& config) {
  config.expect_false("rms_scaling");
  LayerNormalizationOptions options = with_norm(config, LayerNormalizationOptions());
  if (config.find("axis") != nullptr) options.axes = config.integers("axis");
  return std::make_unique<LayerNormalization>(std::move(options));
}

}  // namespace ronde::inline v0
