#include <algorithm>
#include <map>
#include <numeric>

#include <ronde/nn/graph.h>
#include <ronde/nn/layer_factory.h>
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

/// A net as its calls, inputs first.
struct CalledNet {
  const Module& net;
  std::vector<NetPart> inputs;
  std::vector<GraphNode> nodes;
  std::vector<int> outputs;
  std::vector<NetPart> named_outputs = {};  // none: a list of outputs
};

/// How a config describes the calls of a net.
class Calls {
 public:
  explicit Calls(const CalledNet& called) {
    for (const GraphNode& node : called.nodes)
      if (node.layer == nullptr)
        references_.push_back({called.inputs[references_.size()].name, 0, 0});
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

/// Those of outputs, in a dict where they have names.
ConfigValue output_references(const CalledNet& called, const Calls& calls) {
  if (called.named_outputs.empty()) return calls.references(called.outputs);
  ConfigDict dict;
  for (std::size_t i = 0; i < called.named_outputs.size(); ++i)
    dict.emplace_back(called.named_outputs[i].name, calls.reference(called.outputs[i]));
  return dict;
}

ConfigDict functional_config(const CalledNet& called) {
  const Module& net = called.net;
  Calls calls(called);
  ConfigList layers;
  for (const NetPart& part : called.inputs) {
    ConfigDict input = input_layer(part.name, net.is_built() ? &part.shape : nullptr);
    input.emplace_back("name", part.name);
    input.emplace_back("inbound_nodes", ConfigList{});
    layers.emplace_back(input);
  }
  std::vector<int> inputs(layers.size());
  std::iota(inputs.begin(), inputs.end(), 0);
  for (const Module* layer : net.children()) {
    ConfigDict described = described_layer(*layer);
    described.emplace_back("name", layer->name());
    described.emplace_back("inbound_nodes", calls.of(*layer));
    layers.emplace_back(described);
  }
  ConfigDict config{{"name", net.name().empty() ? "functional" : net.name()},
                    {"layers", layers},
                    {"input_layers", calls.references(inputs)},
                    {"output_layers", output_references(called, calls)}};
  // Of the whole net it would mean to Keras that nothing is trained, whatever its layers say.
  if (!net.trainable() && !net.path().empty()) config.emplace_back("trainable", false);
  append_left_out(net, config);
  return config;
}

/// The layers of a Sequential, one behind the other.
CalledNet chain_of(const Module& net) {
  const std::vector<Module*> layers = net.children();
  CalledNet called{net, {{cat(layers.front()->name(), "_input"), net.input_shape()}}, {GraphNode()}, {}};
  for (int last = 0; Module * layer : layers) called.nodes.push_back({layer, {last++}});
  called.outputs = {static_cast<int>(layers.size())};
  return called;
}

bool is_attention_chain(const Module& net) {
  const std::vector<Module*> layers = net.children();
  return dynamic_cast<const Sequential*>(&net) != nullptr &&
         std::any_of(layers.begin(), layers.end(), [](const Module* layer) {
           return dynamic_cast<const MultiHeadAttention*>(layer) != nullptr;
         });
}

}  // namespace

ConfigDict Graph::config() const {
  require_output();
  return functional_config({*this, input_parts(), nodes_, outputs_,
                            has_named_outputs() ? output_parts() : std::vector<NetPart>()});
}

std::string described_class(const Module& layer) {
  return is_attention_chain(layer) ? "Functional" : layer.class_name();
}

ConfigDict described_layer(const Module& layer) {
  return {{"class_name", described_class(layer)},
          {"config", is_attention_chain(layer) ? functional_config(chain_of(layer)) : layer.config()}};
}

}  // namespace ronde::inline v0
