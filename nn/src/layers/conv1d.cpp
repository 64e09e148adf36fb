#include <ronde/nn/conv1d.h>

#include "layers/kernel_and_bias.h"
#include "layers/layer_checks.h"
#include "layers/sequences.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kPaddings[] = {"valid", "same", "causal"};  // in the order of Padding1D

Padding1D read_padding(const LayerConfig& config) {
  const std::string name = config.text("padding", kPaddings[0]);
  for (int i = 0; i < 3; ++i)
    if (name == kPaddings[i]) return static_cast<Padding1D>(i);
  config.refuse("padding", cat("\"", name, "\" is not supported, only valid, same and causal"));
}

}  // namespace

Conv1D::Conv1D(Conv1DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require_filters(*this, options_.filters, options_.groups);
  require_positive(*this, "kernel", options_.kernel);
  require_positive(*this, "strides", options_.strides);
  require_positive(*this, "dilation", options_.dilation);
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
  const std::int64_t reach = (options_.kernel - 1) * options_.dilation;
  if (options_.padding == Padding1D::valid) require_window_fits(*this, x.size(1), reach + 1);
  const bool relu = options_.activation == Activation::relu;
  const Variable y =
      from_row(conv2d(row, kernel_, bias_,
                      {.stride = {1, options_.strides},
                       .padding = options_.padding == Padding1D::same ? Padding::same : Padding::valid,
                       .dilation = {1, options_.dilation},
                       .groups = options_.groups,
                       .epilogue = relu ? Epilogue::relu : Epilogue::none,
                       .margins = {.left = options_.padding == Padding1D::causal ? reach : 0}}));
  return relu ? y : apply_activation(options_.activation, y);
}

ConfigDict Conv1D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("filters", options_.filters);
  config.emplace_back("kernel_size", ConfigList{options_.kernel});
  config.emplace_back("strides", ConfigList{options_.strides});
  config.emplace_back("padding", kPaddings[static_cast<int>(options_.padding)]);
  config.emplace_back("data_format", "channels_last");
  config.emplace_back("dilation_rate", ConfigList{options_.dilation});
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
                                                 .padding = read_padding(config),
                                                 .dilation = config.extent("dilation_rate", 1),
                                                 .groups = config.integer("groups", 1)}));
}

}  // namespace ronde::inline v0
