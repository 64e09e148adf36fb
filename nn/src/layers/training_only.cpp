#include <ronde/nn/training_only.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

ConfigDict TrainingOnly::config() const {
  ConfigDict config = layer_config(*this);
  config.insert(config.end(), options_.begin(), options_.end());
  return config;
}

template <>
std::unique_ptr<Module> read_layer<TrainingOnly>(const LayerConfig& config) {
  return std::make_unique<TrainingOnly>(config.class_name(), config.own_options());
}

}  // namespace ronde::inline v0
