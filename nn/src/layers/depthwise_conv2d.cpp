#include <ronde/nn/depthwise_conv2d.h>

#include "layers/convolve.h"
#include "layers/image_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kKernel = "depthwise_kernel";  // Keras' name

}  // namespace

DepthwiseConv2D::DepthwiseConv2D(DepthwiseConv2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.depth_multiplier > 0, "[", label(),
                      "] depth_multiplier must be positive, got ", options_.depth_multiplier);
  require_positive(*this, "kernel", options_.kernel);
  require_positive(*this, "strides", options_.strides);
  require_positive(*this, "dilation", options_.dilation);
}

void DepthwiseConv2D::build_weights(const Shape& input, const BuildOptions& options) {
  require_images(*this, input);
  const std::int64_t filters = input.back() * options_.depth_multiplier;
  const Shape kernel{filters, options_.kernel.h, options_.kernel.w, 1};
  kernel_ = add_weight({.name = kKernel,
                        .layout = WeightLayout::depthwise,
                        .depth_multiplier = options_.depth_multiplier,
                        .regularizer = options_.depthwise_regularizer},
                       kernel, options_.depthwise_initializer, options);
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
  config.emplace_back("kernel_size", pair(options_.kernel));
  config.emplace_back("strides", pair(options_.strides));
  config.emplace_back("padding", to_string(options_.padding));
  config.emplace_back("depth_multiplier", options_.depth_multiplier);
  config.emplace_back("data_format", "channels_last");
  config.emplace_back("dilation_rate", pair(options_.dilation));
  config.emplace_back("activation", to_string(options_.activation));
  config.emplace_back("use_bias", options_.use_bias);
  config.emplace_back("depthwise_initializer", options_.depthwise_initializer.config());
  config.emplace_back("bias_initializer", options_.bias_initializer.config());
  append_regularizer("depthwise_regularizer", options_.depthwise_regularizer, config);
  append_regularizer("bias_regularizer", options_.bias_regularizer, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<DepthwiseConv2D>(const LayerConfig& config) {
  config.expect_no_adapters();
  config.ignore({"groups"});  // one for each channel, by its nature
  config.expect_text("data_format", "channels_last");
  return std::make_unique<DepthwiseConv2D>(DepthwiseConv2DOptions{
      .kernel = config.size("kernel_size", {3, 3}),
      .strides = config.size("strides", {1, 1}),
      .padding = config.padding(),
      .depth_multiplier = config.integer("depth_multiplier", 1),
      .dilation = config.size("dilation_rate", {1, 1}),
      .activation = config.activation(),
      .use_bias = config.boolean("use_bias", true),
      .depthwise_initializer = config.initializer("depthwise_initializer", Initializer::glorot_uniform),
      .bias_initializer = config.initializer("bias_initializer", Initializer::zeros),
      .depthwise_regularizer = config.regularizer("depthwise_regularizer"),
      .bias_regularizer = config.regularizer("bias_regularizer")});
}

}  // namespace ronde::inline v0
