#include "nets/wrapped_layer.h"

#include <ronde/nn/layer_factory.h>

namespace ronde::inline v0 {

ConfigDict wrapped_layer(const Module& layer) {
  return {{"module", "keras.layers"}, {"class_name", layer.class_name()}, {"config", layer.config()}};
}

std::unique_ptr<Module> read_wrapped_layer(const LayerConfig& config, const char* key) {
  const ConfigValue* layer = config.find(key);
  if (layer == nullptr) return nullptr;
  return layer_from_config(layer->at("class_name").as_string(), layer->at("config"));
}

}  // namespace ronde::inline v0
