#include "nets/wrapped_layer.h"

#include <ronde/nn/layer_factory.h>

namespace ronde::inline v0 {

ConfigDict wrapped_layer(const Module& layer) {
  ConfigDict described = described_layer(layer);
  const std::string class_name = described.front().second.as_string();
  const bool is_functional = class_name == "Functional", is_net = is_functional || class_name == "Sequential";
  if (is_functional) described.front().second = "Model";
  described.emplace(described.begin(), "module", is_net ? "keras" : "keras.layers");
  return described;
}

std::unique_ptr<Module> read_wrapped_layer(const LayerConfig& config, const char* key) {
  const ConfigValue* layer = config.find(key);
  if (layer == nullptr) return nullptr;
  return layer_from_config(layer->at("class_name").as_string(), layer->at("config"));
}

}  // namespace ronde::inline v0
