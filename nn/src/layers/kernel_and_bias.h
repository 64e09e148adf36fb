/// The options that Dense, Conv2D and Conv2DTranspose share: an activation, a kernel and a bias.
#pragma once

#include "module/layer_config.h"

namespace ronde::inline v0 {

template <class Options>
void append_kernel_and_bias(const Options& options, ConfigDict& config) {
  config.emplace_back("activation", to_string(options.activation));
  config.emplace_back("use_bias", options.use_bias);
  config.emplace_back("kernel_initializer", options.kernel_initializer.config());
  config.emplace_back("bias_initializer", options.bias_initializer.config());
  append_regularizer("kernel_regularizer", options.kernel_regularizer, config);
  append_regularizer("bias_regularizer", options.bias_regularizer, config);
}

/// `options` with those of the config.
template <class Options>
Options with_kernel_and_bias(const LayerConfig& config, Options options) {
  options.activation = config.activation();
  options.use_bias = config.boolean("use_bias", true);
  options.kernel_initializer = config.initializer("kernel_initializer", Initializer::glorot_uniform);
  options.bias_initializer = config.initializer("bias_initializer", Initializer::zeros);
  options.kernel_regularizer = config.regularizer("kernel_regularizer");
  options.bias_regularizer = config.regularizer("bias_regularizer");
  return options;
}

}  // namespace ronde::inline v0
