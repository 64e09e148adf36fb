#include <ronde/core/counted.h>
#include <ronde/core/ops.h>
#include <ronde/nn/rescaling.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

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
  RescalingOptions options;
  if (const std::vector<double> scale = config.numbers("scale"); !scale.empty()) options.scale = scale;
  if (const std::vector<double> offset = config.numbers("offset"); !offset.empty()) options.offset = offset;
  return std::make_unique<Rescaling>(std::move(options));
}

}  // namespace ronde::inline v0
