#include <ronde/core/ops.h>
#include <ronde/nn/group_normalization.h>

#include "layers/image_checks.h"
#include "layers/layer_checks.h"
#include "module/layer_config.h"

namespace ronde::inline v0 {

GroupNormalization::GroupNormalization(GroupNormalizationOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  require<UsageError>(options_.groups > 0 || options_.groups == -1, "[", label(),
                      "] groups must be positive, or -1 for one of each channel, got ", options_.groups);
  require<UsageError>(options_.epsilon >= 0.0, "[", label(), "] epsilon must not be negative, got ",
                      options_.epsilon);
}

std::int64_t GroupNormalization::groups_of(std::int64_t channels) const {
  if (options_.groups == -1) return channels;
  require_groups(*this, channels, options_.groups);
  return options_.groups;
}

void GroupNormalization::build_weights(const Shape& input, const BuildOptions& options) {
  require(input.rank() >= 2, "[", label(), "] expects inputs of shape (n, ..., channels), got ", input);
  require_last_axis(*this, options_.axis, input);
  channels_ = input.back();
  groups_of(channels_);
  const auto add = [&](const char* name, const Initializer& initializer, const Regularizer& regularizer) {
    return add_weight({.name = name, .regularizer = regularizer}, {channels_}, initializer, options);
  };
  if (options_.scale) gamma_ = add("gamma", options_.gamma_initializer, options_.gamma_regularizer);
  if (options_.center) beta_ = add("beta", options_.beta_initializer, options_.beta_regularizer);
}

Variable GroupNormalization::forward(const Variable& x, const Context&) {
  require_channels(*this, x, channels_);
  return group_norm(x, gamma_, beta_, {.groups = groups_of(channels_), .epsilon = options_.epsilon});
}

ConfigDict GroupNormalization::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("groups", options_.groups);
  config.emplace_back("axis", -1);
  config.emplace_back("epsilon", options_.epsilon);
  config.emplace_back("center", options_.center);
  config.emplace_back("scale", options_.scale);
  config.emplace_back("beta_initializer", options_.beta_initializer.config());
  config.emplace_back("gamma_initializer", options_.gamma_initializer.config());
  append_regularizer("beta_regularizer", options_.beta_regularizer, config);
  append_regularizer("gamma_regularizer", options_.gamma_regularizer, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<GroupNormalization>(const LayerConfig& config) {
  return std::make_unique<GroupNormalization>(GroupNormalizationOptions{
      .groups = config.integer("groups", 32),
      .axis = config.axis(),
      .epsilon = config.number("epsilon", 1e-3),
      .center = config.boolean("center", true),
      .scale = config.boolean("scale", true),
      .beta_initializer = config.initializer("beta_initializer", Initializer::zeros),
      .gamma_initializer = config.initializer("gamma_initializer", Initializer::ones),
      .beta_regularizer = config.regularizer("beta_regularizer"),
      .gamma_regularizer = config.regularizer("gamma_regularizer")});
}

}  // namespace ronde::inline v0
