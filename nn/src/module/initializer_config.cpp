// Keras' descriptions of initializers.
#include <algorithm>
#include <array>
#include <string_view>

#include <ronde/nn/initializer.h>

#include "config/snake_case.h"

namespace ronde::inline v0 {

namespace {

constexpr std::array<const char*, 14> kClassNames = {
    "Zeros",         "Ones",         "GlorotUniform",   "GlorotNormal",   "HeUniform",
    "HeNormal",      "LecunUniform", "LecunNormal",     "Orthogonal",     "Constant",
    "RandomUniform", "RandomNormal", "TruncatedNormal", "VarianceScaling"};
constexpr std::array<const char*, 3> kFanModes = {"fan_in", "fan_out", "fan_avg"};
/// The last is another name of the one before, from Keras 1.
constexpr std::array<const char*, 4> kDistributions = {"uniform", "untruncated_normal", "truncated_normal",
                                                       "normal"};

double number(const ConfigDict& config, std::string_view key, double otherwise) {
  for (const auto& [name, value] : config)
    if (name == key && !value.is_null()) return value.as_double();
  return otherwise;
}

/// Position of config[key] among `names`.
template <std::size_t N>
std::size_t choice(const ConfigDict& config, std::string_view key, const std::array<const char*, N>& names,
                   std::size_t otherwise) {
  for (const auto& [name, value] : config) {
    if (name != key) continue;
    for (std::size_t i = 0; i < N; ++i)
      if (value.as_string() == names[i]) return i;
    throw InputError(cat("[initializer] ", key, " \"", value.as_string(), "\" is not supported"));
  }
  return otherwise;
}

Initializer::Distribution distribution_in(const ConfigDict& config) {
  constexpr std::size_t kTruncatedNormal = 2;
  return static_cast<Initializer::Distribution>(
      std::min(choice(config, "distribution", kDistributions, kTruncatedNormal), kTruncatedNormal));
}

Initializer read(Initializer::Kind kind, const ConfigDict& config) {
  switch (kind) {
    case Initializer::orthogonal:
      return Initializer::scaled_orthogonal(number(config, "gain", 1.0));
    case Initializer::constant_kind:
      return Initializer::constant(number(config, "value", 0.0));
    case Initializer::random_uniform_kind:
      return Initializer::random_uniform(number(config, "minval", -0.05), number(config, "maxval", 0.05));
    case Initializer::random_normal_kind:
      return Initializer::random_normal(number(config, "mean", 0.0), number(config, "stddev", 0.05));
    case Initializer::truncated_normal_kind:
      return Initializer::truncated_normal(number(config, "mean", 0.0), number(config, "stddev", 0.05));
    case Initializer::variance_scaling_kind:
      return Initializer::variance_scaling(
          {.scale = number(config, "scale", 1.0),
           .mode = static_cast<Initializer::FanMode>(choice(config, "mode", kFanModes, 0)),
           .distribution = distribution_in(config)});
    default:
      return kind;
  }
}

}  // namespace

ConfigDict Initializer::config() const {
  ConfigDict config;
  if (kind_ == orthogonal) config = {{"gain", a_}};
  if (kind_ == constant_kind) config = {{"value", a_}};
  if (kind_ == random_uniform_kind) config = {{"minval", a_}, {"maxval", b_}};
  if (kind_ == random_normal_kind || kind_ == truncated_normal_kind) config = {{"mean", a_}, {"stddev", b_}};
  if (kind_ == variance_scaling_kind)
    config = {{"scale", scaling_.scale},
              {"mode", kFanModes[static_cast<std::size_t>(scaling_.mode)]},
              {"distribution", kDistributions[static_cast<std::size_t>(scaling_.distribution)]}};
  const bool is_random = kind_ != zeros && kind_ != ones && kind_ != constant_kind;
  if (is_random) config.emplace_back("seed", ConfigValue());
  return {{"class_name", kClassNames[kind_]}, {"config", config}};
}

Initializer Initializer::from_config(const ConfigValue& config) {
  const std::string& name = config.is_string() ? config.as_string() : config.at("class_name").as_string();
  const ConfigValue* settings = config.is_dict() ? config.find("config") : nullptr;
  for (std::size_t i = 0; i < kClassNames.size(); ++i) {
    if (name != kClassNames[i] && name != snake_case(kClassNames[i])) continue;
    return read(static_cast<Kind>(i),
                settings != nullptr && settings->is_dict() ? settings->as_dict() : ConfigDict{});
  }
  throw InputError(cat("initializer \"", name, "\" is not supported"));
}

}  // namespace ronde::inline v0
