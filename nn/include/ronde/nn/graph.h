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
/// Note [Several inputs and outputs]: to all that works with nets, a net takes one tensor and gives one. A
/// graph with several inputs takes rows (n, total), in which the inputs of a sample lie flattened, one behind
/// the other, in the order in which they were named; one with several outputs gives such rows. `join_rows`
/// and `split_rows` (core/ops.h) make and take them apart; output_losses.h gives each output its loss:
///
///     const Symbol board = net.input("board", {8, 8, 12}), clocks = net.input("clocks", {2});
///     ...
///     net.output({policy, value});
///     Model model(net, joined_shape(net.input_parts()));                       // (770)
///     Tensor rows = model.predict(join_rows({boards, times}).value());
///     std::vector<Variable> parts = split_rows(rows, net.output_parts());      // policy, value
///
/// Keras' files have such nets with their inputs and outputs. They cannot be a layer of another Graph.
///
/// Ownership: the graph owns the layers that are moved into it and refers to those given as an lvalue, which
/// must outlive it. Symbols refer to the graph that made them and are of no use once it is gone or moved.
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/ops.h>
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

/// One of the inputs or outputs of a net.
struct NetPart {
  std::string name;  ///< of an input its own, of an output its own or that of the layer that makes it
  Shape shape;       ///< without the batch
};
RONDE_API std::vector<Shape> shapes_of(const std::vector<NetPart>& parts);
/// Of what a net with these inputs takes: (total), or the shape of the only one.
RONDE_API Shape joined_shape(const std::vector<NetPart>& parts);

/// `split_rows` of ops.h, into the inputs or the outputs of a net.
RONDE_API std::vector<Variable> split_rows(const Variable& rows, const std::vector<NetPart>& parts);

/// One call of a layer.
struct GraphNode {
  Module* layer = nullptr;       ///< nullptr for an input of the graph
  std::vector<int> inputs = {};  ///< the nodes whose results it takes, in order; all are earlier ones
  /// So many of an attention's query, value and key a description gives by their places, the others by their
  /// names. It changes nothing but the order in which Keras finds the layers in front: Graph::layers().
  std::size_t by_place = 3;
};

class RONDE_API Graph : public Module {
 public:
  Graph() = default;
  Graph(Graph&&) = default;

  /// The only input, of the shape that the net is built for; to be called first, once. The name is what
  /// Keras' files call it.
  Symbol input(const std::string& name = "input_1");
  /// One of several inputs, of this shape without the batch; they come before all layers. (One alone may have
  /// a shape, too, which is that which the net has to be built for.)
  Symbol input(const std::string& name, const Shape& shape);
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
  /// Says so of the call whose result that is: GraphNode::by_place.
  void set_by_place(const Symbol& result, std::size_t count);
  /// Ends the construction. An error when the result of a call leads nowhere.
  void output(const Symbol& y) { output(std::vector<Symbol>{y}); }
  /// The same with several outputs, of different layers or calls.
  void output(const std::vector<Symbol>& outputs);
  /// Several outputs by names of their own, as Keras' nets have whose outputs are a dict.
  void output(const std::vector<std::pair<std::string, Symbol>>& outputs);

  /// All calls in the order in which they run, behind the inputs.
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  /// The nodes whose results are the net's; none before `output`.
  const std::vector<int>& output_nodes() const { return outputs_; }
  /// Inputs by their nodes' numbers, and outputs; their shapes are known once the net is built.
  std::vector<NetPart> input_parts() const;
  std::vector<NetPart> output_parts() const;
  bool has_named_outputs() const { return !output_names_.empty(); }
  /// Whether it takes or gives rows of several: Note [Several inputs and outputs].
  bool has_several_parts() const { return inputs_.size() > 1 || outputs_.size() > 1; }
  /// The layers in the order that Keras gives them in a model and in its files: those furthest from the
  /// output first. (children() are in the order in which they were added.)
  std::vector<Module*> layers() const { return layers_by({}); }
  /// Where so many of the inputs of each MultiHeadAttention were given by their places, not as many as its
  /// calls say: GraphNode::by_place.
  std::vector<Module*> layers_by(std::optional<std::size_t> places) const;

  std::string class_name() const override { return "Functional"; }
  /// name, layers with their inbound_nodes, input_layers, output_layers, in the form that Keras 2 and Keras 3
  /// read. The input's shape is known once the net is built.
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  Symbol add_input(NetPart part);
  Symbol append(std::unique_ptr<Module> layer, const std::vector<Symbol>& inputs);
  Symbol append(Module& layer, const std::vector<Symbol>& inputs);
  Symbol call(Module& layer, const std::vector<Symbol>& inputs);
  void require_open(const Module& layer) const;
  void require_output() const;
  std::vector<Variable> inputs_of(const Variable& x) const;
  using Chain = std::array<Module*, 4>;  // as long as the longest run
  std::size_t chain_from(std::size_t n, std::span<Module*> layers, int& addend) const;
  std::size_t compute_first(std::size_t n, const std::vector<Variable>& results, Variable& y,
                            const Context& context) const;

  std::vector<GraphNode> nodes_;
  std::vector<int> last_use_;    // of each node's result: the last node that takes it; -1: it is an output's
  std::vector<NetPart> inputs_;
  bool has_open_input_ = false;  // it is the only one, and has no shape of its own
  std::vector<int> outputs_;
  std::vector<std::string> output_names_;  // none: those of the layers
  std::vector<Shape> output_shapes_;  // found by the dry run of a build
};

/// The outputs of a graph that has several, with their shapes once it is built; empty for any other net.
RONDE_API std::vector<NetPart> several_outputs(const Module& net);

}  // namespace ronde::inline v0
