#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/rescaling.h>

#include "layer_config.h"

namespace ronde::inline v0 {

namespace {

/// A number alone for one, a list for several, which Keras broadcasts over the last axis.
ConfigValue to_config(const std::vector<double>& values) {
  if (values.size() == 1) return values.front();
  ConfigList list;
  for (const double value : values) list.emplace_back(value);
  return list;
}

std::vector<double> values_of(const LayerConfig& config, const char* key, double otherwise) {
  const ConfigValue* value = config.find(key);
  if (value == nullptr) return {otherwise};
  if (!value->is_list()) return {config.number(key, otherwise)};
  std::vector<double> values;
  for (const ConfigValue& one : value->as_list()) values.push_back(one.as_double());
  return values;
}

}  // namespace

Rescaling::Rescaling(RescalingOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(!options_.scale.empty() && !options_.offset.empty(), "[", label(),
                      "] scale and offset need at least one number each");
}

void Rescaling::build_weights(const Shape& input, const BuildOptions& options) {
  const auto channels = static_cast<std::size_t>(input.back());
  const auto make = [&](const char* what, const std::vector<double>& values) {
    if (values.size() == 1) return Tensor();
    require(values.size() == channels, "[", label(), "] ", what, " has ", counted(values.size(), "value"),
            " for ", counted(channels, "channel"));
    return Tensor::from<double>({input.back()}, values, options.backend).to(options.dtype);
  };
  scale_ = make("scale", options_.scale);
  offset_ = make("offset", options_.offset);
}

Variable Rescaling::forward(const Variable& x, const Context&) {
  const double scale = options_.scale.front(), offset = options_.offset.front();
  Variable y = x;
  if (scale_.defined())
    y = y * scale_.to(x.dtype());
  else if (scale != 1.0)
    y = y * scale;
  if (offset_.defined()) return y + offset_.to(x.dtype());
  return offset != 0.0 ? y + offset : y;
}

ConfigDict Rescaling::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("scale", to_config(options_.scale));
  config.emplace_back("offset", to_config(options_.offset));
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Rescaling>(const LayerConfig& config) {
  return std::make_unique<Rescaling>(
      RescalingOptions{.scale = values_of(config, "scale", 1.0), .offset = values_of(config, "offset", 0.0)});
}

}  // namespace ronde::inline v0
