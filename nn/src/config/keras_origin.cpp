#include <string_view>

#include <ronde/nn/keras_origin.h>

namespace ronde::inline v0 {

bool is_of_keras(const ConfigValue& described) {
  const ConfigValue* module = described.find("module");
  if (module == nullptr) return true;
  if (!module->is_string()) return false;
  const std::string_view name = module->as_string();
  const std::string_view first = name.substr(0, name.find('.'));
  return first == "keras" || first == "tf_keras" || first == "builtins";
}

bool is_for_training_only(const std::string& option) {
  return option.ends_with("_regularizer") || option.ends_with("_constraint");
}

}  // namespace ronde::inline v0
