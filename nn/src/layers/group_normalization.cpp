#include <ronde/core/ops.h>
#include <ronde/nn/group_normalization.h>

#include "layers/image_checks.h"
#include "layers/layer_checks.h"
#include "layers/norm_options.h"

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
  append_norm(options_, config);
  return config;
}

template <>
std::unique_ptr<Module> read_layer<GroupNormalization>(const LayerConfig& config) {
  return std::make_unique<GroupNormalization>(with_norm(
      config, GroupNormalizationOptions{.groups = config.integer("groups", 32), .axis = config.axis()}));
}

}  // namespace ronde::inline v0
