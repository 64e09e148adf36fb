/// The options that normalisations with gamma and beta share.
#pragma once

#include "module/layer_config.h"

namespace ronde::inline v0 {

/// Keeps moving statistics.
template <class Options>
concept HasMovingStatistics = requires(const Options& options) {
  options.moving_mean_initializer;
};

template <class Options>
void append_norm(const Options& options, ConfigDict& config) {
  config.emplace_back("epsilon", options.epsilon);
  config.emplace_back("center", options.center);
  config.emplace_back("scale", options.scale);
  config.emplace_back("beta_initializer", options.beta_initializer.config());
  config.emplace_back("gamma_initializer", options.gamma_initializer.config());
  if constexpr (HasMovingStatistics<Options>) {
    config.emplace_back("moving_mean_initializer", options.moving_mean_initializer.config());
    config.emplace_back("moving_variance_initializer", options.moving_variance_initializer.config());
  }
  append_regularizer("beta_regularizer", options.beta_regularizer, config);
  append_regularizer("gamma_regularizer", options.gamma_regularizer, config);
}

/// `options` with those of the config.
template <class Options>
Options with_norm(const LayerConfig& config, Options options) {
  options.epsilon = config.number("epsilon", 1e-3);
  options.center = config.boolean("center", true);
  options.scale = config.boolean("scale", true);
  options.beta_initializer = config.initializer("beta_initializer", Initializer::zeros);
  options.gamma_initializer = config.initializer("gamma_initializer", Initializer::ones);
  if constexpr (HasMovingStatistics<Options>) {
    options.moving_mean_initializer = config.initializer("moving_mean_initializer", Initializer::zeros);
    options.moving_variance_initializer =
        config.initializer("moving_variance_initializer", Initializer::ones);
  }
  options.beta_regularizer = config.regularizer("beta_regularizer");
  options.gamma_regularizer = config.regularizer("gamma_regularizer");
  return options;
}

}  // namespace ronde::inline v0
