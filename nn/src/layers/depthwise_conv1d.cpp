#include <ronde/nn/depthwise_conv1d.h>

#include "layers/convolve_series.h"
#include "layers/depthwise_options.h"
#include "layers/sequences.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

DepthwiseConv1D::DepthwiseConv1D(DepthwiseConv1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_depth_multiplier(*this, options_.depth_multiplier);
  require_positive_window(*this, options_);
}

void DepthwiseConv1D::build_weights(const Shape& input, const BuildOptions& options) {
  require_sequences(*this, input);
  const std::int64_t filters = input.back() * options_.depth_multiplier;
  kernel_ = add_weight(depthwise_kernel(options_, WeightLayout::depthwise1d),
                       {filters, 1, options_.kernel, 1}, options_.depthwise_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {filters},
                     options_.bias_initializer, options);
}

Variable DepthwiseConv1D::forward(const Variable& x, const Context&) {
  const Variable row = as_row(*this, x);
  const std::int64_t channels = kernel_.size(0) / options_.depth_multiplier;
  require_channels(*this, x, channels);
  const Padding1D padding = options_.padding == Padding::same ? Padding1D::same : Padding1D::valid;
  const Conv2dOptions call = series_call(
      *this, x.size(1), {options_.kernel, options_.strides, options_.dilation, padding}, channels);
  return convolve_row(row, kernel_, bias_, call, options_.activation);
}

ConfigDict DepthwiseConv1D::config() const {
  ConfigDict config = layer_config(*this);
  append_window(options_, config);
  config.emplace_back("depth_multiplier", options_.depth_multiplier);
  append_depthwise(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<DepthwiseConv1D>(const LayerConfig& config) {
  return std::make_unique<DepthwiseConv1D>(
      with_depthwise(config, DepthwiseConv1DOptions{.kernel = config.extent("kernel_size", 3),
                                                    .strides = config.extent("strides", 1),
                                                    .padding = config.padding(),
                                                    .dilation = config.extent("dilation_rate", 1)}));
}

}  // namespace ronde::inline v0
