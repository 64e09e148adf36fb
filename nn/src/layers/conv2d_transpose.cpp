#include <ronde/nn/conv2d_transpose.h>

#include "layers/fused_activation.h"
#include "layers/image_checks.h"
#include "layers/kernel_and_bias.h"
#include "layers/layer_checks.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

Conv2DTranspose::Conv2DTranspose(Conv2DTransposeOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_filters(*this, options_.filters);
  require_positive_window(*this, options_);
  const Size2d s = options_.strides, d = options_.dilation;
  const auto [h, w] = options_.output_padding.value_or(Size2d{0, 0});
  require<UsageError>(h >= 0 && w >= 0 && h < s.h && w < s.w, "[", label(),
                      "] output_padding must be from 0 up to below the strides, ", s.h, " x ", s.w, ", got ",
                      h, " x ", w);
  require<UsageError>(s == Size2d{1, 1} || d == Size2d{1, 1}, "[", label(), "] strides of ", s.h, " x ", s.w,
                      " do not go with a dilation of ", d.h, " x ", d.w, ": one of them must be 1 x 1");
}

// In Keras' shape the filters stand where a convolution has its channels, and fans are counted by place.
void Conv2DTranspose::build_weights(const Shape& input, const BuildOptions& options) {
  require_images(*this, input);
  const Shape kernel{input.back(), options_.kernel.h, options_.kernel.w, options_.filters};
  kernel_ =
      add_weight({.name = "kernel", .layout = WeightLayout::conv, .regularizer = options_.kernel_regularizer},
                 kernel, options_.kernel_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {options_.filters},
                     options_.bias_initializer, options);
}

Variable Conv2DTranspose::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  require_channels(*this, x, kernel_.size(0));
  const Variable y = conv2d_transpose(x, kernel_, bias_,
                                      {.stride = options_.strides,
                                       .padding = options_.padding,
                                       .dilation = options_.dilation,
                                       .output_padding = options_.output_padding,
                                       .epilogue = epilogue_of(options_.activation)});
  return apply_rest(options_.activation, y);
}

ConfigDict Conv2DTranspose::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("filters", options_.filters);
  append_window(options_, config);
  const std::optional<Size2d>& more = options_.output_padding;
  config.emplace_back("output_padding", more ? pair(*more) : ConfigValue());
  append_kernel_and_bias(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Conv2DTranspose>(const LayerConfig& config) {
  config.expect_no_adapters();
  config.ignore({"groups"});  // Keras 2 writes it and does not use it
  config.expect_text("data_format", "channels_last");
  return std::make_unique<Conv2DTranspose>(
      with_kernel_and_bias(config, Conv2DTransposeOptions{.filters = config.integer("filters"),
                                                          .kernel = config.size("kernel_size", {3, 3}),
                                                          .strides = config.size("strides", {1, 1}),
                                                          .padding = config.padding(),
                                                          .output_padding = config.size("output_padding"),
                                                          .dilation = config.size("dilation_rate", {1, 1})}));
}

}  // namespace ronde::inline v0
