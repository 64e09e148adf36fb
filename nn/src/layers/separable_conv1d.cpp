#include <ronde/nn/separable_conv1d.h>

#include "layers/convolve_series.h"
#include "layers/depthwise_options.h"
#include "layers/sequences.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

SeparableConv1D::SeparableConv1D(SeparableConv1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_filters(*this, options_.filters);
  require_depth_multiplier(*this, options_.depth_multiplier);
  require_positive_window(*this, options_);
}

void SeparableConv1D::build_weights(const Shape& input, const BuildOptions& options) {
  require_sequences(*this, input);
  const std::int64_t channels = input.back() * options_.depth_multiplier;
  depthwise_ = add_weight(depthwise_kernel(options_, WeightLayout::depthwise1d),
                          {channels, 1, options_.kernel, 1}, options_.depthwise_initializer, options);
  pointwise_ = add_weight({.name = kPointwiseKernel,
                           .layout = WeightLayout::conv1d,
                           .regularizer = options_.pointwise_regularizer},
                          {options_.filters, 1, 1, channels}, options_.pointwise_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {options_.filters},
                     options_.bias_initializer, options);
}

Variable SeparableConv1D::forward(const Variable& x, const Context&) {
  const Variable row = as_row(*this, x);
  const std::int64_t channels = depthwise_.size(0) / options_.depth_multiplier;
  require_channels(*this, x, channels);
  const Conv2dOptions call = series_call(
      *this, x.size(1), {options_.kernel, options_.strides, options_.dilation, options_.padding}, channels);
  return convolve_row(conv2d(row, depthwise_, {}, call), pointwise_, bias_, {}, options_.activation);
}

ConfigDict SeparableConv1D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("filters", options_.filters);
  append_window(options_, config);
  config.emplace_back("depth_multiplier", options_.depth_multiplier);
  append_depthwise(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<SeparableConv1D>(const LayerConfig& config) {
  return std::make_unique<SeparableConv1D>(
      with_depthwise(config, SeparableConv1DOptions{.kernel = config.extent("kernel_size", 3),
                                                    .strides = config.extent("strides", 1),
                                                    .padding = read_padding1d(config),
                                                    .dilation = config.extent("dilation_rate", 1)}));
}

}  // namespace ronde::inline v0
