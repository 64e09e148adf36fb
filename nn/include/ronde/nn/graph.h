/// Graph: a net of layers with branches, joins and shared layers; Keras' functional style.
///
///     Graph net;
///     const Symbol x = net.input();
///     Symbol y = net.add(Conv2D({.filters = 16, .padding = Padding::same}), x);
///     y = net.add(BatchNormalization(), y);
///     y = net.add(Add(), {x, y});             // several inputs, in this order
///     Symbol z = net.add(y.layer(), {y, y});  // the layer that made y, called once more
///     net.output(net.add(Flatten(), z));
///     Model model(net, {32, 32, 16});
///
/// A Symbol stands for the result of one call of a layer; shapes are known once the net is built. Calls run
/// in the order in which they were added, and so do the weights come in `parameters()`; a layer called twice
/// has its weights once. Layers without a name get Keras': add, add_1, conv2d, ... counted per class in this
/// graph. A Graph is a Module: it can be a layer of another Graph or of a Sequential.
///
/// Ownership: the graph owns the layers that are moved into it and refers to those given as an lvalue, which
/// must outlive it. Symbols refer to the graph that made them and are of no use once it is gone or moved.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class Graph;

/// The result of a call in a graph. Cheap to copy.
class RONDE_API Symbol {
 public:
  /// The layer that makes it, to be called once more; an error for the graph's input.
  Module& layer() const;
  /// Its place in Graph::nodes().
  int node() const { return node_; }

 private:
  friend class Graph;
  Symbol(const Graph* graph, int node) : graph_(graph), node_(node) {}

  const Graph* graph_;
  int node_;
};

/// One call of a layer.
struct GraphNode {
  Module* layer = nullptr;       ///< nullptr for the graph's input, which is node 0
  std::vector<int> inputs = {};  ///< the nodes whose results it takes, in order; all are earlier ones
};

class RONDE_API Graph : public Module {
 public:
  Graph() = default;
  Graph(Graph&&) = default;

  /// The one input; to be called first, once. The name is what Keras' files call it.
  Symbol input(const std::string& name = "input_1");
  /// Takes a layer over and calls it.
  template <std::derived_from<Module> Layer>
  Symbol add(Layer&& layer, const Symbol& x) {
    return append(std::make_unique<Layer>(std::move(layer)), {x});
  }
  template <std::derived_from<Module> Layer>
  Symbol add(Layer&& layer, const std::vector<Symbol>& inputs) {
    return append(std::make_unique<Layer>(std::move(layer)), inputs);
  }
  Symbol add(std::unique_ptr<Module> layer, const Symbol& x) { return append(std::move(layer), {x}); }
  Symbol add(std::unique_ptr<Module> layer, const std::vector<Symbol>& inputs) {
    return append(std::move(layer), inputs);
  }
  /// Calls a layer of this graph once more, or one that the caller keeps.
  Symbol add(Module& layer, const Symbol& x) { return append(layer, {x}); }
  Symbol add(Module& layer, const std::vector<Symbol>& inputs) { return append(layer, inputs); }
  /// Ends the construction. An error when the result of a call leads nowhere.
  void output(const Symbol& y);

  /// All calls in the order in which they run; node 0 is the input.
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  /// The node whose result is the net's; -1 before `output`.
  int output_node() const { return output_; }
  const std::string& input_name() const { return input_name_; }
  /// The layers in the order that Keras gives them in a model and in its files: those furthest from the
  /// output first. (children() are in the order in which they were added.)
  std::vector<Module*> layers() const;

  std::string class_name() const override { return "Functional"; }
  /// name, layers with their inbound_nodes, input_layers, output_layers, in the form that Keras 2 and Keras 3
  /// read. The input's shape is known once the net is built.
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  Symbol append(std::unique_ptr<Module> layer, const std::vector<Symbol>& inputs);
  Symbol append(Module& layer, const std::vector<Symbol>& inputs);
  Symbol call(Module& layer, const std::vector<Symbol>& inputs);
  void require_open(const Module& layer) const;
  using Chain = std::array<Module*, 4>;  // as long as the longest run
  std::size_t chain_from(std::size_t n, std::span<Module*> layers, int& addend) const;
  std::size_t compute_first(std::size_t n, const std::vector<Variable>& results, Variable& y,
                            const Context& context) const;

  std::vector<GraphNode> nodes_;
  std::vector<int> last_use_;  // of each node's result: the last node that takes it
  int output_ = -1;
  std::string input_name_;
};

}  // namespace ronde::inline v0
