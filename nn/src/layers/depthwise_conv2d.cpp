#include <ronde/nn/depthwise_conv2d.h>

#include "layers/convolve.h"
#include "layers/depthwise_options.h"
#include "layers/image_checks.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

DepthwiseConv2D::DepthwiseConv2D(DepthwiseConv2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_depth_multiplier(*this, options_.depth_multiplier);
  require_positive_window(*this, options_);
}

void DepthwiseConv2D::build_weights(const Shape& input, const BuildOptions& options) {
  require_images(*this, input);
  const std::int64_t filters = input.back() * options_.depth_multiplier;
  const Shape kernel{filters, options_.kernel.h, options_.kernel.w, 1};
  kernel_ = add_weight(depthwise_kernel(options_, WeightLayout::depthwise), kernel,
                       options_.depthwise_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {filters},
                     options_.bias_initializer, options);
}

Variable DepthwiseConv2D::forward(const Variable& x, const Context&) {
  return convolve(x);
}

Variable DepthwiseConv2D::convolve(const Variable& x, const Margins2d& margins) const {
  return convolve_images(*this, x, margins);
}

Conv2dCall DepthwiseConv2D::call() const {
  return conv2d_call(options_, kernel_, bias_, kernel_.size(0) / options_.depth_multiplier);
}

ConfigDict DepthwiseConv2D::config() const {
  ConfigDict config = layer_config(*this);
  append_window(options_, config);
  config.emplace_back("depth_multiplier", options_.depth_multiplier);
  append_depthwise(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<DepthwiseConv2D>(const LayerConfig& config) {
  return std::make_unique<DepthwiseConv2D>(
      with_depthwise(config, DepthwiseConv2DOptions{.kernel = config.size("kernel_size", {3, 3}),
                                                    .strides = config.size("strides", {1, 1}),
                                                    .padding = config.padding(),
                                                    .dilation = config.size("dilation_rate", {1, 1})}));
}

}  // namespace ronde::inline v0
