#include <ronde/nn/layer_factory.h>
#include <ronde/nn/sequential.h>

#include "layer_config.h"
#include "snake_case.h"

namespace ronde::inline v0 {

Module& Sequential::append(std::unique_ptr<Module> layer) {
  require(layer != nullptr, "[", label(), "] cannot add a null pointer");
  require(!is_built(), "[", label(), "] is built: no layer can be added any more");
  const std::string name = layer->name().empty() ? free_name(*layer) : layer->name();
  return add_module(name, std::move(layer));
}

/// The class in snake case, with the number of layers of that class so far behind it; the next number when
/// somebody gave that name to another layer.
std::string Sequential::free_name(const Module& layer) const {
  const std::string base = snake_case(layer.class_name());
  const std::vector<Module*> siblings = children();
  const auto is_taken = [&](const std::string& name) {
    for (const Module* sibling : siblings)
      if (sibling->name() == name) return true;
    return false;
  };
  int number = 0;
  for (const Module* sibling : siblings) number += sibling->class_name() == layer.class_name() ? 1 : 0;
  std::string name = number == 0 ? base : cat(base, '_', number);
  while (is_taken(name)) name = cat(base, '_', ++number);
  return name;
}

Variable Sequential::forward(const Variable& x, const Context& context) {
  Variable y = x;
  for (Module* layer : children()) y = (*layer)(y, context);
  return y;
}

ConfigDict Sequential::config() const {
  ConfigList layers;
  for (const Module* layer : children())
    layers.emplace_back(ConfigDict{{"class_name", layer->class_name()}, {"config", layer->config()}});
  return {{"name", name().empty() ? "sequential" : name()}, {"layers", layers}};
}

template <>
std::unique_ptr<Module> read_layer<Sequential>(const LayerConfig& config) {
  auto net = std::make_unique<Sequential>();
  const ConfigValue* layers = config.find("layers");
  if (layers == nullptr || !layers->is_list()) config.refuse("layers", "expected a list");
  for (const ConfigValue& layer : layers->as_list()) {
    const std::string& class_name = layer.at("class_name").as_string();
    if (class_name != "InputLayer") net->add(layer_from_config(class_name, layer.at("config")));
  }
  return net;
}

}  // namespace ronde::inline v0
