#include <ronde/nn/conv1d_transpose.h>

#include "layers/fused_activation.h"
#include "layers/kernel_and_bias.h"
#include "layers/layer_checks.h"
#include "layers/sequences.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

Conv1DTranspose::Conv1DTranspose(Conv1DTransposeOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_filters(*this, options_.filters);
  require_positive_window(*this, options_);
  const std::int64_t more = options_.output_padding.value_or(0);
  require<UsageError>(more >= 0 && more < options_.strides, "[", label(),
                      "] output_padding must be from 0 up to below the strides, ", options_.strides, ", got ",
                      more);
  require<UsageError>(options_.strides == 1 || options_.dilation == 1, "[", label(), "] strides of ",
                      options_.strides, " do not go with a dilation of ", options_.dilation,
                      ": one of them must be 1");
}

void Conv1DTranspose::build_weights(const Shape& input, const BuildOptions& options) {
  require_sequences(*this, input);
  kernel_ = add_weight(
      {.name = "kernel", .layout = WeightLayout::conv1d, .regularizer = options_.kernel_regularizer},
      {input.back(), 1, options_.kernel, options_.filters}, options_.kernel_initializer, options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {options_.filters},
                     options_.bias_initializer, options);
}

Variable Conv1DTranspose::forward(const Variable& x, const Context&) {
  const Variable row = as_row(*this, x);
  require_channels(*this, x, kernel_.size(0));
  Conv2dTransposeOptions call{
      .stride = {1, options_.strides}, .padding = options_.padding, .dilation = {1, options_.dilation}};
  if (options_.output_padding) call.output_padding = Size2d{0, *options_.output_padding};
  call.epilogue = epilogue_of(options_.activation);
  return apply_rest(options_.activation, from_row(conv2d_transpose(row, kernel_, bias_, call)));
}

ConfigDict Conv1DTranspose::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("filters", options_.filters);
  append_window(options_, config);
  const std::optional<std::int64_t>& more = options_.output_padding;
  config.emplace_back("output_padding", more ? ConfigList{*more} : ConfigValue());
  append_kernel_and_bias(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Conv1DTranspose>(const LayerConfig& config) {
  config.expect_no_adapters();
  config.ignore({"groups"});  // Keras 2 writes it and does not use it
  config.expect_text("data_format", "channels_last");
  return std::make_unique<Conv1DTranspose>(
      with_kernel_and_bias(config, Conv1DTransposeOptions{.filters = config.integer("filters"),
                                                          .kernel = config.extent("kernel_size", 3),
                                                          .strides = config.extent("strides", 1),
                                                          .padding = config.padding(),
                                                          .output_padding = config.extent("output_padding"),
                                                          .dilation = config.extent("dilation_rate", 1)}));
}

}  // namespace ronde::inline v0
