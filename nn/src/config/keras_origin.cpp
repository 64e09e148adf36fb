#include <string_view>

#include <ronde/core/text.h>
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

namespace {

std::string module_name(const ConfigValue& object) {
  const ConfigValue* module = object.find("module");
  return module && module->is_string() ? module->as_string() : "__main__";
}

std::string foreign_name(const ConfigValue& object) {
  const ConfigValue* registered = object.find("registered_name");
  if (registered && registered->is_string() && registered->as_string().find('>') != std::string::npos)
    return registered->as_string();
  return cat(module_name(object), ".", object.at("class_name").as_string());
}

std::string own_name(const ConfigValue& object) {
  const std::string& name = object.at("class_name").as_string();
  if (const auto end = name.find('>'); end != std::string::npos) return name.substr(end + 1);
  const std::string prefix = module_name(object) + ".";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

/// With another name for each object that is not Keras' own.
ConfigValue renamed(const ConfigValue& value, std::string (*name_of)(const ConfigValue&)) {
  if (value.is_list()) {
    ConfigList list;
    for (const ConfigValue& item : value.as_list()) list.push_back(renamed(item, name_of));
    return list;
  }
  if (!value.is_dict()) return value;
  const ConfigValue* class_name = value.find("class_name");
  const bool is_foreign = class_name && class_name->is_string() && !is_of_keras(value);
  ConfigDict dict;
  for (const auto& [key, item] : value.as_dict()) {
    const bool is_name = is_foreign && key == "class_name";
    // What is for training only is kept as it is, whatever it says: `Regularizer` knows those of Keras
    // itself.
    dict.emplace_back(key, is_name                     ? name_of(value)
                           : is_for_training_only(key) ? item
                                                       : renamed(item, name_of));
  }
  return dict;
}

}  // namespace

ConfigValue with_foreign_names(const ConfigValue& value) {
  return renamed(value, foreign_name);
}
ConfigValue with_own_names(const ConfigValue& value) {
  return renamed(value, own_name);
}

}  // namespace ronde::inline v0
