#include "keras_file/keras_archive.h"

namespace ronde::inline v0 {

namespace {

bool describes_object(const ConfigValue& value) {
  return value.is_dict() && value.find("class_name") != nullptr && value.find("config") != nullptr;
}

/// {"class_name", "config"}, with the module it is from.
ConfigDict described(const ConfigValue& object, const char* module) {
  const std::string& class_name = object.at("class_name").as_string();
  ConfigDict result{{"module", module},
                    {"class_name", class_name.substr(class_name.rfind('>') + 1)},  // "Custom>AdamW"
                    {"config", object.at("config")},
                    {"registered_name", ConfigValue()}};
  for (const auto& [key, value] : object.as_dict())
    if (key != "class_name" && key != "config") result.emplace_back(key, value);
  return result;
}

/// Where both Kerases look for the object of a layer's setting; nullptr for one that is not known here.
const char* module_of_setting(const std::string& key) {
  if (key.ends_with("_regularizer")) return "keras.regularizers";
  if (key.ends_with("_constraint")) return "keras.constraints";
  return key.ends_with("_initializer") ? "keras.initializers" : nullptr;
}

/// A setting of a layer. A function has its module already, and so has what another .keras file told of.
ConfigValue setting(const std::string& key, const ConfigValue& value) {
  const char* module = module_of_setting(key);
  if (!module || !describes_object(value) || value.find("module") != nullptr) return value;
  ConfigDict object = described(value, module);
  const std::string& class_name = value.at("class_name").as_string();
  if (class_name.find('>') == std::string::npos) return object;
  for (auto& [part, content] : object) {  // a program's own, which Keras finds by this name alone
    if (part == "module") content = {};
    if (part == "registered_name") content = class_name;
  }
  return object;
}

/// Where both Kerases look for a class.
const char* module_of(const std::string& class_name) {
  if (class_name == "Sequential" || class_name == "Functional" || class_name == "Model") return "keras";
  if (class_name == "LayerScale") return "keras.src.applications.convnext";
  if (class_name == "CustomScaleLayer") return "keras.src.applications.inception_resnet_v2";
  return "keras.layers";
}

ConfigValue layer(const ConfigValue& object) {
  const std::string& class_name = object.at("class_name").as_string();
  ConfigDict config;
  for (const auto& [key, value] : object.at("config").as_dict()) {
    if (key != "layers") {
      config.emplace_back(key, setting(key, value));
      continue;
    }
    ConfigList layers;
    for (const ConfigValue& one : value.as_list()) layers.push_back(layer(one));
    config.emplace_back(key, layers);
  }
  ConfigDict result = described(object, module_of(class_name));
  for (auto& [key, value] : result) {
    if (key == "config") value = config;
    // Both Keras know this class by that module; Functional they do not.
    if (key == "class_name" && class_name == "Functional") value = "Model";
  }
  return result;
}

}  // namespace

ConfigValue archive_model_config(const ConfigValue& model_config) {
  return model_config.is_null() ? model_config : layer(model_config);
}

namespace {

/// Names stay as they are.
ConfigValue part_of_training(const ConfigValue& value, const char* module) {
  if (describes_object(value)) return described(value, module);
  if (value.is_dict()) {
    ConfigDict parts;
    for (const auto& [output, part] : value.as_dict())
      parts.emplace_back(output, part_of_training(part, module));
    return parts;
  }
  if (!value.is_list()) return value;
  ConfigList parts;
  for (const ConfigValue& part : value.as_list()) parts.push_back(part_of_training(part, module));
  return parts;
}

}  // namespace

ConfigValue archive_compile_config(const ConfigValue& training_config) {
  if (!training_config.is_dict()) return {};
  ConfigDict config;
  for (const auto& [key, value] : training_config.as_dict()) {
    if (key == "optimizer_config")
      config.emplace_back("optimizer", described(value, "keras.optimizers"));
    else
      config.emplace_back(
          key, part_of_training(value, key.ends_with("metrics") ? "keras.metrics" : "keras.losses"));
  }
  return config;
}

ConfigValue training_config_from_archive(const ConfigValue& compile_config) {
  // Keras 3 leaves the optimizer out of a file when it has saved an .h5 before.
  if (!compile_config.is_dict() || compile_config.find("loss") == nullptr) return {};
  ConfigDict config;
  for (const auto& [key, value] : compile_config.as_dict()) {
    if (key != "optimizer")
      config.emplace_back(key, value);
    else if (value.is_string())  // compile("adam"): all its defaults
      config.emplace_back("optimizer_config", ConfigDict{{"class_name", value}, {"config", ConfigDict{}}});
    else
      config.emplace_back("optimizer_config", value);
  }
  return config;
}

}  // namespace ronde::inline v0
