#include <ronde/nn/conv1d.h>

#include "layers/convolve_series.h"
#include "layers/kernel_and_bias.h"
#include "layers/layer_checks.h"
#include "layers/sequences.h"
#include "layers/window_config.h"

namespace ronde::inline v0 {

Conv1D::Conv1D(Conv1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_filters(*this, options_.filters, options_.groups);
  require_positive_window(*this, options_);
}

void Conv1D::build_weights(const Shape& input, const BuildOptions& options) {
  require_sequences(*this, input);
  const std::int64_t channels = input.back();
  require_groups(*this, channels, options_.groups);
  kernel_ = add_weight(
      {.name = "kernel", .layout = WeightLayout::conv1d, .regularizer = options_.kernel_regularizer},
      {options_.filters, 1, options_.kernel, channels / options_.groups}, options_.kernel_initializer,
      options);
  if (!options_.use_bias) return;
  bias_ = add_weight({.name = "bias", .regularizer = options_.bias_regularizer}, {options_.filters},
                     options_.bias_initializer, options);
}

Variable Conv1D::forward(const Variable& x, const Context&) {
  const Variable row = as_row(*this, x);
  require_channels(*this, x, kernel_.size(3) * options_.groups);
  const Conv2dOptions call =
      series_call(*this, x.size(1), {options_.kernel, options_.strides, options_.dilation, options_.padding},
                  options_.groups);
  return convolve_row(row, kernel_, bias_, call, options_.activation);
}

ConfigDict Conv1D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("filters", options_.filters);
  append_window(options_, config);
  config.emplace_back("groups", options_.groups);
  append_kernel_and_bias(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<Conv1D>(const LayerConfig& config) {
  config.expect_no_adapters();
  config.expect_text("data_format", "channels_last");
  return std::make_unique<Conv1D>(
      with_kernel_and_bias(config, Conv1DOptions{.filters = config.integer("filters"),
                                                 .kernel = config.extent("kernel_size", 3),
                                                 .strides = config.extent("strides", 1),
                                                 .padding = read_padding1d(config),
                                                 .dilation = config.extent("dilation_rate", 1),
                                                 .groups = config.integer("groups", 1)}));
}

}  // namespace ronde::inline v0
