#include "weights/input_dtypes.h"

#include <algorithm>

#include <ronde/nn/embedding.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/time_distributed.h>

namespace ronde::inline v0 {

namespace {

/// An Embedding, also of each step, or a net that gives its only input to Embeddings alone.
bool embeds(const Module& layer);

bool embeds_input(const Graph& graph, int input) {
  const std::vector<GraphNode>& nodes = graph.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [input](const GraphNode& node) {
    const bool takes_it = std::find(node.inputs.begin(), node.inputs.end(), input) != node.inputs.end();
    return !takes_it || embeds(*node.layer);
  });
}

bool embeds(const Module& layer) {
  if (const auto* graph = dynamic_cast<const Graph*>(&layer)) return embeds_input(*graph, 0);
  if (dynamic_cast<const Sequential*>(&layer) != nullptr)
    return !layer.children().empty() && embeds(*layer.children().front());
  if (const auto* distributed = dynamic_cast<const TimeDistributed*>(&layer))
    return embeds(distributed->layer());
  return dynamic_cast<const Embedding*>(&layer) != nullptr;
}

/// Of the InputLayer of this name.
bool embeds_input(const Module& net, const std::string& name) {
  const auto* graph = dynamic_cast<const Graph*>(&net);
  if (graph == nullptr) return embeds(net);
  const std::vector<NetPart> parts = graph->input_parts();
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const NetPart& part) { return part.name == name; });
  return found != parts.end() && embeds_input(*graph, static_cast<int>(found - parts.begin()));
}

/// As layers are called here.
std::string name_here(const ConfigValue& config) {
  const ConfigValue* name = config.is_dict() ? config.find("name") : nullptr;
  std::string text = name != nullptr && name->is_string() ? name->as_string() : "";
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

void collect(const ConfigList& layers, const Module& net, std::set<std::string>& dtypes) {
  const std::vector<Module*> children = net.children();
  for (const ConfigValue& layer : layers) {
    const ConfigValue& config = layer.at("config");
    const ConfigList* const inner = layers_in(config);
    const bool is_input = layer.at("class_name").as_string() == "InputLayer";
    if (!inner && !is_input) continue;
    const std::string name = name_here(config);
    if (is_input) {
      if (!embeds_input(net, name)) dtypes.insert(dtype_in(config));
      continue;
    }
    const auto child = std::find_if(children.begin(), children.end(),
                                    [&](const Module* module) { return module->name() == name; });
    if (child != children.end()) collect(*inner, **child, dtypes);
  }
}

}  // namespace

const ConfigList* layers_in(const ConfigValue& config) {
  const ConfigValue* layers = config.is_dict() ? config.find("layers") : &config;
  return layers != nullptr && layers->is_list() ? &layers->as_list() : nullptr;
}

std::string dtype_in(const ConfigValue& config) {
  const ConfigValue* dtype = config.find("dtype");
  if (dtype && dtype->is_dict()) dtype = dtype->find("config");
  if (dtype && dtype->is_dict()) dtype = dtype->find("name");
  return dtype && dtype->is_string() ? dtype->as_string() : "";
}

std::set<std::string> input_dtypes(const ConfigValue& described, const Module& net) {
  std::set<std::string> dtypes;
  const ConfigValue* config = described.is_dict() ? described.find("config") : nullptr;
  const ConfigList* layers = config != nullptr ? layers_in(*config) : nullptr;
  if (layers != nullptr) collect(*layers, net, dtypes);
  return dtypes;
}

}  // namespace ronde::inline v0
