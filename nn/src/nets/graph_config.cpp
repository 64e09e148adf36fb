#include <algorithm>
#include <map>
#include <numeric>

#include <ronde/nn/graph.h>
#include <ronde/nn/sequential.h>

#include "module/layer_config.h"

namespace ronde::inline v0 {

// Note [Calls of nested nets]: a config names a call by its layer and the number of the call. Keras 2 counts
// the calls of a nested net from 1, since making the net counted as one; Keras 3 counts from 0 when it reads
// such a file. So each call of a nested net is written twice, and number 2 k + 1 is meant: the first or the
// second of an equal pair, which is the same. Whoever reads the file drops the calls that nothing uses.

namespace {

bool is_net(const Module& module) {
  return dynamic_cast<const Graph*>(&module) != nullptr ||
         dynamic_cast<const Sequential*>(&module) != nullptr;
}

/// What stands for a node's result in the list of inputs of another: layer, number of the call, number of
/// the result.
ConfigList reference(const Graph& graph, int node) {
  const auto& nodes = graph.nodes();
  const Module* layer = nodes[static_cast<std::size_t>(node)].layer;
  if (layer == nullptr) return {graph.input_parts()[static_cast<std::size_t>(node)].name, 0, 0};
  const auto calls_before = std::count_if(nodes.begin(), nodes.begin() + node,
                                          [&](const GraphNode& other) { return other.layer == layer; });
  return {layer->name(), is_net(*layer) ? 2 * calls_before + 1 : calls_before, 0};
}

ConfigList calls_of(const Graph& graph, const Module& layer) {
  ConfigList calls;
  for (const GraphNode& node : graph.nodes()) {
    if (node.layer != &layer) continue;
    ConfigList inputs;
    for (const int input : node.inputs) {
      inputs.emplace_back(reference(graph, input));
      ConfigList with_arguments = inputs.back().as_list();
      with_arguments.emplace_back(ConfigDict{});
      inputs.back() = with_arguments;
    }
    calls.emplace_back(inputs);
    if (is_net(layer)) calls.emplace_back(inputs);
  }
  return calls;
}

/// Of nodes that are the net's inputs or outputs. One alone is not in a list, as Keras 2 writes it: Keras 3
/// would make the net return a list.
ConfigList references(const Graph& graph, const std::vector<int>& nodes) {
  if (nodes.size() == 1) return reference(graph, nodes.front());
  ConfigList list;
  for (const int node : nodes) list.emplace_back(reference(graph, node));
  return list;
}

/// Those of outputs that have names.
ConfigDict named_references(const Graph& graph) {
  const std::vector<NetPart> parts = graph.output_parts();
  ConfigDict dict;
  for (std::size_t i = 0; i < parts.size(); ++i)
    dict.emplace_back(parts[i].name, reference(graph, graph.output_nodes()[i]));
  return dict;
}

}  // namespace

ConfigDict Graph::config() const {
  require_output();
  ConfigList layers;
  for (const NetPart& part : input_parts()) {
    ConfigDict input = input_layer(part.name, is_built() ? &part.shape : nullptr);
    input.emplace_back("name", part.name);
    input.emplace_back("inbound_nodes", ConfigList{});
    layers.emplace_back(input);
  }
  std::vector<int> inputs(layers.size());
  std::iota(inputs.begin(), inputs.end(), 0);
  for (const Module* layer : children())
    layers.emplace_back(ConfigDict{{"class_name", layer->class_name()},
                                   {"config", layer->config()},
                                   {"name", layer->name()},
                                   {"inbound_nodes", calls_of(*this, *layer)}});
  ConfigDict config{{"name", name().empty() ? "functional" : name()},
                    {"layers", layers},
                    {"input_layers", references(*this, inputs)},
                    {"output_layers", has_named_outputs() ? ConfigValue(named_references(*this))
                                                          : ConfigValue(references(*this, outputs_))}};
  // Of the whole net it would mean to Keras that nothing is trained, whatever its layers say.
  if (!trainable() && !path().empty()) config.emplace_back("trainable", false);
  append_left_out(*this, config);
  return config;
}

// --- the order of layers

namespace {

/// The calls as a walk from the outputs meets them, each call's inputs in order.
struct Walk {
  std::vector<int> entered;   // nodes in the order of their first visit
  std::vector<int> finished;  // nodes in the order in which all their inputs are done
};

Walk walk_from_outputs(const Graph& graph) {
  Walk walk;
  std::vector<bool> seen(graph.nodes().size(), false);
  struct Visit {
    int node;
    std::size_t next_input;
  };
  std::vector<Visit> stack;
  const auto enter = [&](int node) {
    if (seen[static_cast<std::size_t>(node)]) return;
    seen[static_cast<std::size_t>(node)] = true;
    walk.entered.push_back(node);
    stack.push_back({node, 0});
  };
  for (const int output : graph.output_nodes()) {
    enter(output);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const std::vector<int>& inputs = graph.nodes()[static_cast<std::size_t>(visit.node)].inputs;
      if (visit.next_input < inputs.size()) {
        enter(inputs[visit.next_input++]);
      } else {
        walk.finished.push_back(visit.node);
        stack.pop_back();
      }
    }
  }
  return walk;
}

}  // namespace

/// By the longest way to the output; equal ones as the walk meets them.
std::vector<Module*> Graph::layers() const {
  require_output();
  const Walk walk = walk_from_outputs(*this);
  std::vector<int> depth(nodes_.size(), 0);
  std::map<const Module*, int> layer_depth;
  for (auto node = walk.finished.rbegin(); node != walk.finished.rend(); ++node) {
    const GraphNode& call = nodes_[static_cast<std::size_t>(*node)];
    const int own = std::max(depth[static_cast<std::size_t>(*node)], layer_depth[call.layer]);
    layer_depth[call.layer] = own;
    for (const int input : call.inputs)
      depth[static_cast<std::size_t>(input)] = std::max(depth[static_cast<std::size_t>(input)], own + 1);
  }
  std::vector<Module*> layers;
  for (const int node : walk.entered) {
    Module* layer = nodes_[static_cast<std::size_t>(node)].layer;
    if (layer != nullptr && std::find(layers.begin(), layers.end(), layer) == layers.end())
      layers.push_back(layer);
  }
  std::stable_sort(layers.begin(), layers.end(),
                   [&](const Module* a, const Module* b) { return layer_depth.at(a) > layer_depth.at(b); });
  return layers;
}

}  // namespace ronde::inline v0
