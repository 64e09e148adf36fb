#include <cmath>

#include <ronde/nn/keras_origin.h>
#include <ronde/nn/regularizer.h>

#include "config/config_options.h"

namespace ronde::inline v0 {

namespace {

bool is_factor(double value) {
  return value >= 0.0 && std::isfinite(value);
}

double factor(const ConfigValue& settings, const char* key, double otherwise) {
  const double value = settings.is_dict() ? number_option(settings, key, otherwise) : otherwise;
  require<InputError>(is_factor(value), "[regularizer] ", key, " ", value, " is not supported");
  return value;
}

}  // namespace

Regularizer::Regularizer(double l1, double l2) : l1_(l1), l2_(l2) {
  for (const auto& [name, value] : {std::pair{"l1", l1}, {"l2", l2}})
    require<UsageError>(is_factor(value), "[regularizer] ", name,
                        " must be a finite number and not negative, got ", value);
}

ConfigDict Regularizer::config() const {
  if (l1_ == 0.0) return {{"class_name", "L2"}, {"config", ConfigDict{{"l2", l2_}}}};
  if (l2_ == 0.0) return {{"class_name", "L1"}, {"config", ConfigDict{{"l1", l1_}}}};
  return {{"class_name", "L1L2"}, {"config", ConfigDict{{"l1", l1_}, {"l2", l2_}}}};
}

Regularizer Regularizer::from_config(const ConfigValue& config) {
  const bool is_name = config.is_string();
  const std::string& name = is_name ? config.as_string() : config.at("class_name").as_string();
  require<InputError>(is_name || is_of_keras(config), "regularizer \"", name, "\" is a program's own");
  const ConfigValue* found = is_name ? nullptr : config.find("config");
  const ConfigValue settings = found ? *found : ConfigValue();
  if (name == "L1" || name == "l1") return l1(factor(settings, "l1", 0.01));
  if (name == "L2" || name == "l2") return l2(factor(settings, "l2", 0.01));
  // The class has none by default; Keras 2's function of another name has 0.01 of both.
  const double otherwise = name == "l1_l2" ? 0.01 : 0.0;
  if (name == "L1L2" || name == "l1l2" || name == "l1_l2")
    return l1_l2(factor(settings, "l1", otherwise), factor(settings, "l2", otherwise));
  throw InputError(cat("regularizer \"", name, "\" is not supported"));
}

}  // namespace ronde::inline v0
