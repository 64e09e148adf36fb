#include <ronde/nn/conv2d.h>

#include "layers/convolve.h"
#include "layers/image_checks.h"
#include "layers/kernel_and_bias.h"
#include "layers/layer_checks.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

Conv2D::Conv2D(Conv2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_filters(*this, options_.filters, options_.groups);
  require_positive_window(*this, options_);
}

void Conv2D::build_weights(const Shape& input, const BuildOptions& options) {
  require_images(*this, input);
  const std::int64_t channels = input.back();
  require_groups(*this, channels, options_.groups);
  const Shape kernel{options_.filters, options_.kernel.h, options_.kernel.w, channels / options_.groups};
  kernel_ =
      add_weight({.name = "kernel", .layout = WeightLayout::conv, .regularizer = options_.kernel_regularizer},
                 kernel, options_.kernel_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {options_.filters},
                     options_.bias_initializer, options);
}

Variable Conv2D::forward(const Variable& x, const Context&) {
  return convolve(x);
}

Variable Conv2D::convolve(const Variable& x, const Margins2d& margins) const {
  return convolve_images(*this, x, margins);
}

bool Conv2D::is_one_call() const {
  return options_.activation == Activation::relu || options_.activation == Activation::linear;
}

Conv2dCall Conv2D::call() const {
  return conv2d_call(options_, kernel_, bias_, options_.groups);
}

ConfigDict Conv2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("filters", options_.filters);
  append_window(options_, config);
  config.emplace_back("groups", options_.groups);
  append_kernel_and_bias(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Conv2D>(const LayerConfig& config) {
  config.expect_no_adapters();
  config.expect_text("data_format", "channels_last");
  return std::make_unique<Conv2D>(
      with_kernel_and_bias(config, Conv2DOptions{.filters = config.integer("filters"),
                                                 .kernel = config.size("kernel_size", {3, 3}),
                                                 .strides = config.size("strides", {1, 1}),
                                                 .padding = config.padding(),
                                                 .dilation = config.size("dilation_rate", {1, 1}),
                                                 .groups = config.integer("groups", 1)}));
}

}  // namespace ronde::inline v0
