#include <limits>

#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/normalization.h>

#include "layers/image_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

constexpr double kLeastDeviation = 1e-7;  // Keras' epsilon

}  // namespace

Normalization::Normalization(NormalizationOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.mean.size() == options_.variance.size(), "[", label(), "] has ",
                      counted(options_.mean.size(), "mean"), " and ",
                      counted(options_.variance.size(), "variance"));
}

void Normalization::build_weights(const Shape& input, const BuildOptions& options) {
  if (options_.axis) require_last_axis(*this, *options_.axis, input);
  const Shape channels = options_.axis ? Shape{input.back()} : Shape{};
  const auto given = [&](const std::vector<double>& values) {
    if (values.size() == 1)
      return Tensor::full(channels, values.front(), {.dtype = options.dtype, .backend = options.backend});
    require(options_.axis.has_value(), "[", label(), "] has ", counted(values.size(), "mean"),
            " for all elements, as it has no axis");
    require(static_cast<std::int64_t>(values.size()) == input.back(), "[", label(), "] has ",
            counted(values.size(), "mean"), " for ", counted(input.back(), "channel"));
    return Tensor::from<double>(channels, values, options.backend).to(options.dtype);
  };
  const auto weight = [&](const char* name, const Initializer& initializer, const Shape& shape) {
    return add_weight({.name = name, .trainable = false}, shape, initializer, options);
  };
  const bool has_weights = options_.mean.empty();
  mean_ = has_weights ? weight("mean", Initializer::zeros, channels) : given(options_.mean);
  variance_ = has_weights ? weight("variance", Initializer::ones, channels) : given(options_.variance);
  if (has_weights) weight("count", Initializer::zeros, {});
}

Variable Normalization::deviation() const {
  return clamp(sqrt(variance_), kLeastDeviation, std::numeric_limits<double>::infinity());
}

Variable Normalization::forward(const Variable& x, const Context&) {
  const Variable mean = cast(mean_, x.dtype()), scale = cast(deviation(), x.dtype());
  return options_.invert ? x * scale + mean : (x - mean) / scale;
}

ConfigDict Normalization::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("axis", options_.axis ? ConfigValue(-1) : ConfigValue(ConfigList()));
  config.emplace_back("mean", to_config(options_.mean));
  config.emplace_back("variance", to_config(options_.variance));
  if (options_.invert) config.emplace_back("invert", true);  // not known to each Keras
  return config;
}

namespace {

/// Keras writes None as the empty list of the axes that are kept.
std::optional<std::int64_t> axis_of(const LayerConfig& config) {
  if (config.find("axis") && config.integers("axis").empty()) return std::nullopt;
  return config.axis();
}

}  // namespace

template <>
std::unique_ptr<Module> read_layer<Normalization>(const LayerConfig& config) {
  return std::make_unique<Normalization>(NormalizationOptions{.axis = axis_of(config),
                                                              .mean = config.numbers("mean"),
                                                              .variance = config.numbers("variance"),
                                                              .invert = config.boolean("invert", false)});
}

}  // namespace ronde::inline v0
