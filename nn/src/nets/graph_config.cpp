#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <ronde/nn/graph.h>
#include <ronde/nn/multi_head_attention.h>
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

/// How a config describes the calls of a graph.
class Calls {
 public:
  explicit Calls(const Graph& graph) {
    const std::vector<NetPart> inputs = graph.input_parts();
    for (const GraphNode& node : graph.nodes())
      if (node.layer == nullptr)
        references_.push_back({inputs[references_.size()].name, 0, 0});
      else
        add(node);
  }

  ConfigList& of(const Module& layer) { return of_layer_[&layer]; }

  /// What stands for a node's result in the list of inputs of another: layer, number of the call, number of
  /// the result.
  const ConfigList& reference(int node) const { return references_[static_cast<std::size_t>(node)]; }

  /// Of nodes that are the net's inputs or outputs. One alone is not in a list, as Keras 2 writes it: Keras 3
  /// would make the net return a list.
  ConfigList references(const std::vector<int>& nodes) const {
    if (nodes.size() == 1) return reference(nodes.front());
    ConfigList list;
    for (const int node : nodes) list.emplace_back(reference(node));
    return list;
  }

 private:
  void add(const GraphNode& node) {
    const auto* attention = dynamic_cast<const MultiHeadAttention*>(node.layer);
    const ConfigValue inputs =
        attention ? ConfigValue(arguments(*attention, node)) : ConfigValue(tensors(node));
    ConfigList& calls = of(*node.layer);
    calls.emplace_back(inputs);
    references_.push_back({node.layer->name(), std::ssize(calls) - 1, 0});
    if (!is_net(*node.layer)) return;
    calls.emplace_back(inputs);
    references_.back()[1] = std::ssize(calls) - 1;
  }

  /// Results of layers as every Keras reads them that are a layer's first argument, one or a list, each with
  /// the others.
  ConfigList tensors(const GraphNode& node) const {
    ConfigDict arguments;
    const auto* attention = dynamic_cast<const AttentionLayer*>(node.layer);
    if (attention && attention->use_causal_mask()) arguments.emplace_back("use_causal_mask", true);
    ConfigList inputs;
    for (const int input : node.inputs) {
      ConfigList with_arguments = reference(input);
      with_arguments.emplace_back(arguments);
      inputs.emplace_back(with_arguments);
    }
    return inputs;
  }

  /// As Keras 3 has several arguments: Note [Arguments of calls].
  ConfigDict arguments(const MultiHeadAttention& layer, const GraphNode& node) const {
    std::vector<int> nodes = node.inputs;
    if (nodes.size() == 1) nodes.push_back(nodes.front());
    ConfigList args;
    ConfigDict kwargs;
    kwargs.emplace_back("use_causal_mask", layer.use_causal_mask());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ConfigDict tensor, call;
      tensor.emplace_back("shape", ConfigList(1));  // not of use to the reader
      tensor.emplace_back("dtype", "float32");
      tensor.emplace_back("keras_history", reference(nodes[i]));
      call.emplace_back("class_name", "__keras_tensor__");
      call.emplace_back("config", std::move(tensor));
      if (i < node.by_place)
        args.emplace_back(std::move(call));
      else
        kwargs.emplace_back(MultiHeadAttention::kInputNames[i], std::move(call));
    }
    ConfigDict all;
    all.emplace_back("args", std::move(args));
    all.emplace_back("kwargs", std::move(kwargs));
    return all;
  }

  std::vector<ConfigList> references_;  // to each node
  std::map<const Module*, ConfigList> of_layer_;
};

/// Those of outputs that have names.
ConfigDict named_references(const Graph& graph, const Calls& calls) {
  const std::vector<NetPart> parts = graph.output_parts();
  ConfigDict dict;
  for (std::size_t i = 0; i < parts.size(); ++i)
    dict.emplace_back(parts[i].name, calls.reference(graph.output_nodes()[i]));
  return dict;
}

}  // namespace

ConfigDict Graph::config() const {
  require_output();
  Calls calls(*this);
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
                                   {"inbound_nodes", calls.of(*layer)}});
  ConfigDict config{{"name", name().empty() ? "functional" : name()},
                    {"layers", layers},
                    {"input_layers", calls.references(inputs)},
                    {"output_layers", has_named_outputs() ? ConfigValue(named_references(*this, calls))
                                                          : ConfigValue(calls.references(outputs_))}};
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

/// The inputs of a call in the order in which Keras has them: those with names behind the others, and by
/// these names.
std::vector<int> inputs_to_keras(const GraphNode& node, std::optional<std::size_t> places) {
  std::vector<int> inputs = node.inputs;
  if (inputs.size() != 3 || !dynamic_cast<const MultiHeadAttention*>(node.layer)) return inputs;
  const std::size_t by_place = places.value_or(node.by_place);
  if (by_place < 2) std::rotate(inputs.begin() + static_cast<int>(by_place), inputs.end() - 1, inputs.end());
  return inputs;
}

Walk walk_from_outputs(const Graph& graph, std::optional<std::size_t> places) {
  Walk walk;
  std::vector<bool> seen(graph.nodes().size(), false);
  struct Visit {
    int node;
    std::vector<int> inputs;
    std::size_t next_input = 0;
  };
  std::vector<Visit> stack;
  const auto enter = [&](int node) {
    if (seen[static_cast<std::size_t>(node)]) return;
    seen[static_cast<std::size_t>(node)] = true;
    walk.entered.push_back(node);
    stack.push_back({node, inputs_to_keras(graph.nodes()[static_cast<std::size_t>(node)], places)});
  };
  for (const int output : graph.output_nodes()) {
    enter(output);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next_input < visit.inputs.size()) {
        enter(visit.inputs[visit.next_input++]);
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
std::vector<Module*> Graph::layers_by(std::optional<std::size_t> places) const {
  require_output();
  const Walk walk = walk_from_outputs(*this, places);
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
  std::set<const Module*> listed;
  for (const int node : walk.entered) {
    Module* layer = nodes_[static_cast<std::size_t>(node)].layer;
    if (layer != nullptr && listed.insert(layer).second) layers.push_back(layer);
  }
  std::stable_sort(layers.begin(), layers.end(),
                   [&](const Module* a, const Module* b) { return layer_depth.at(a) > layer_depth.at(b); });
  return layers;
}

}  // namespace ronde::inline v0
