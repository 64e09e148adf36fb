/// The options that depthwise and separable convolutions share: an activation, kernels and a bias.
#pragma once

#include "layers/layer_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

/// Keras' names of the kernels.
constexpr const char* kDepthwiseKernel = "depthwise_kernel";
constexpr const char* kPointwiseKernel = "pointwise_kernel";

/// A second kernel mixes what the first one makes.
template <class Options>
concept IsSeparable = requires(const Options& options) {
  options.pointwise_initializer;
};

/// The first kernel, which is in memory as that layout has it.
template <class Options>
Parameter depthwise_kernel(const Options& options, WeightLayout layout) {
  return {.name = kDepthwiseKernel,
          .layout = layout,
          .depth_multiplier = options.depth_multiplier,
          .regularizer = options.depthwise_regularizer};
}

template <class Options>
void append_depthwise(const Options& options, ConfigDict& config) {
  config.emplace_back("activation", to_string(options.activation));
  config.emplace_back("use_bias", options.use_bias);
  config.emplace_back("depthwise_initializer", options.depthwise_initializer.config());
  if constexpr (IsSeparable<Options>)
    config.emplace_back("pointwise_initializer", options.pointwise_initializer.config());
  config.emplace_back("bias_initializer", options.bias_initializer.config());
  append_regularizer("depthwise_regularizer", options.depthwise_regularizer, config);
  if constexpr (IsSeparable<Options>)
    append_regularizer("pointwise_regularizer", options.pointwise_regularizer, config);
  append_regularizer("bias_regularizer", options.bias_regularizer, config);
}

/// `options` with those of the config.
template <class Options>
Options with_depthwise(const LayerConfig& config, Options options) {
  config.expect_no_adapters();
  config.ignore({"groups"});  // one for each channel, by its nature
  config.expect_text("data_format", "channels_last");
  options.depth_multiplier = config.integer("depth_multiplier", 1);
  options.activation = config.activation();
  options.use_bias = config.boolean("use_bias", true);
  options.depthwise_initializer = config.initializer("depthwise_initializer", Initializer::glorot_uniform);
  options.bias_initializer = config.initializer("bias_initializer", Initializer::zeros);
  options.depthwise_regularizer = config.regularizer("depthwise_regularizer");
  options.bias_regularizer = config.regularizer("bias_regularizer");
  if constexpr (IsSeparable<Options>) {
    config.ignore({"kernel_initializer"});  // Keras 2 writes it and does not use it
    options.filters = config.integer("filters");
    options.pointwise_initializer = config.initializer("pointwise_initializer", Initializer::glorot_uniform);
    options.pointwise_regularizer = config.regularizer("pointwise_regularizer");
  }
  return options;
}

}  // namespace ronde::inline v0
