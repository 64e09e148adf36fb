#include <ronde/nn/separable_conv2d.h>

#include "layers/depthwise_options.h"
#include "layers/fused_activation.h"
#include "layers/image_checks.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

SeparableConv2D::SeparableConv2D(SeparableConv2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_filters(*this, options_.filters);
  require_depth_multiplier(*this, options_.depth_multiplier);
  require_positive_window(*this, options_);
}

void SeparableConv2D::build_weights(const Shape& input, const BuildOptions& options) {
  require_images(*this, input);
  const std::int64_t channels = input.back() * options_.depth_multiplier;
  depthwise_ = add_weight(depthwise_kernel(options_, WeightLayout::depthwise),
                          {channels, options_.kernel.h, options_.kernel.w, 1}, options_.depthwise_initializer,
                          options);
  pointwise_ = add_weight(
      {.name = kPointwiseKernel, .layout = WeightLayout::conv, .regularizer = options_.pointwise_regularizer},
      {options_.filters, 1, 1, channels}, options_.pointwise_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {options_.filters},
                     options_.bias_initializer, options);
}

Variable SeparableConv2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  const std::int64_t channels = depthwise_.size(0) / options_.depth_multiplier;
  require_channels(*this, x, channels);
  require_window_fits(*this, x.shape(), options_.kernel, options_.dilation, options_.padding);
  const Variable filtered = conv2d(x, depthwise_, {},
                                   {.stride = options_.strides,
                                    .padding = options_.padding,
                                    .dilation = options_.dilation,
                                    .groups = channels});
  const Epilogue epilogue = epilogue_of(options_.activation);
  return apply_rest(options_.activation, conv2d(filtered, pointwise_, bias_, {.epilogue = epilogue}));
}

ConfigDict SeparableConv2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("filters", options_.filters);
  append_window(options_, config);
  config.emplace_back("depth_multiplier", options_.depth_multiplier);
  append_depthwise(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<SeparableConv2D>(const LayerConfig& config) {
  return std::make_unique<SeparableConv2D>(
      with_depthwise(config, SeparableConv2DOptions{.kernel = config.size("kernel_size", {3, 3}),
                                                    .strides = config.size("strides", {1, 1}),
                                                    .padding = config.padding(),
                                                    .dilation = config.size("dilation_rate", {1, 1})}));
}

}  // namespace ronde::inline v0
