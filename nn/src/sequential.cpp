#include <typeinfo>

#include <ronde/core/trace.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>

#include "auto_name.h"
#include "layer_config.h"

namespace ronde::inline v0 {

namespace {

// `layer`, if it is a convolution that can do the pooling of `next` too. Classes derived from either may
// compute something else.
Conv2D* pooled_conv(Module& layer, const Module& next) {
  if (typeid(layer) != typeid(Conv2D) || typeid(next) != typeid(MaxPooling2D)) return nullptr;
  auto& conv = static_cast<Conv2D&>(layer);
  return conv.is_built() && next.is_built() && conv.can_pool() ? &conv : nullptr;
}

Pool2dOptions pooling_of(const Module& layer) {
  const Pooling2DOptions& options = static_cast<const MaxPooling2D&>(layer).options();
  return {.window = options.pool, .stride = options.strides, .padding = options.padding};
}

}  // namespace

Module& Sequential::append(std::unique_ptr<Module> layer) {
  require(layer != nullptr, "[", label(), "] cannot add a null pointer");
  require(!is_built(), "[", label(), "] is built: no layer can be added any more");
  const std::string name = layer->name().empty() ? auto_name(*layer, children()) : layer->name();
  return add_module(name, std::move(layer));
}

// Pooling behind a convolution is part of it, in the second call and later ones: the first one builds both.
Variable Sequential::forward(const Variable& x, const Context& context) {
  Variable y = x;
  const std::vector<Module*> layers = children();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool has_next = context.trace == nullptr && i + 1 < layers.size();
    if (Conv2D* conv = has_next ? pooled_conv(*layers[i], *layers[i + 1]) : nullptr) {
      const TraceLayer traced(conv->path());
      y = conv->forward_pooled(y, pooling_of(*layers[++i]));
    } else {
      y = (*layers[i])(y, context);
    }
  }
  return y;
}

ConfigDict Sequential::config() const {
  ConfigList layers;
  if (is_built() && !children().empty())
    layers.emplace_back(input_layer(children().front()->name() + "_input", *this));
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
