#include <ronde/nn/layer_factory.h>
#include <ronde/nn/sequential.h>

#include "module/layer_config.h"
#include "runs/conv_norm_run.h"
#include "runs/dense_run.h"
#include "runs/image_run.h"
#include "runs/norm_run.h"
#include "runs/padding_run.h"

namespace ronde::inline v0 {

Module& Sequential::append(std::unique_ptr<Module> layer) {
  require(layer != nullptr, "[", label(), "] cannot add a null pointer");
  require(!is_built(), "[", label(), "] is built: no layer can be added any more");
  const std::string name = name_for(*layer);
  return add_module(name, std::move(layer));
}

namespace {

using Layers = std::span<Module* const>;

// How many of the first layers were computed: a run, or the first one alone. A dry run calls each layer, to
// let it see its input.
std::size_t compute_first(Layers layers, Variable& y, const Context& context) {
  if (context.trace == nullptr && !y.mask().defined()) {
    if (const std::size_t length = compute_run<ConvNormRun>(layers, y, y, context)) return length;
    if (const std::size_t length = compute_run<ImageRun>(layers, y, y, context)) return length;
    if (const std::size_t length = compute_run<DenseRun>(layers, y, y, context)) return length;
    if (const std::size_t length = compute_run<NormRun>(layers, RunInput{y, {}}, y, context)) return length;
    if (const std::size_t length = compute_run<PaddingRun>(layers, y, y, context)) return length;
  }
  y = (*layers.front())(y, context);
  return 1;
}

}  // namespace

Variable Sequential::forward(const Variable& x, const Context& context) {
  const std::vector<Module*> modules = children();
  Variable y = x;
  for (Layers layers(modules); !layers.empty();) layers = layers.subspan(compute_first(layers, y, context));
  return y;
}

ConfigDict Sequential::config() const {
  ConfigList layers;
  if (is_built() && !children().empty())
    layers.emplace_back(input_layer(children().front()->name() + "_input", &input_shape()));
  for (const Module* layer : children()) layers.emplace_back(described_layer(*layer));
  ConfigDict config{{"name", name().empty() ? "sequential" : name()}, {"layers", layers}};
  append_left_out(*this, config);
  return config;
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
