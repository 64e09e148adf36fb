#include "nets/wrapped_layer.h"

#include <ronde/nn/layer_factory.h>

namespace ronde::inline v0 {

ConfigDict wrapped_layer(const Module& layer) {
  const std::string class_name = layer.class_name();
  const bool is_functional = class_name == "Functional", is_net = is_functional || class_name == "Sequential";
  return {{"module", is_net ? "keras" : "keras.layers"},
          {"class_name", is_functional ? "Model" : class_name},
          {"config", layer.config()}};
}

std::unique_ptr<Module> read_wrapped_layer(const LayerConfig& config, const char* key) {
  const ConfigValue* layer = config.find(key);
  if (layer == nullptr) return nullptr;
  return layer_from_config(layer->at("class_name").as_string(), layer->at("config"));
}

}  // namespace ronde::inline v0
