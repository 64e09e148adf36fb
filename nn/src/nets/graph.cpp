#include <ronde/nn/graph.h>

#include <algorithm>
#include <limits>
#include <map>

#include <ronde/core/counted.h>

#include "runs/add_run.h"
#include "runs/conv_norm_run.h"
#include "runs/norm_run.h"
#include "runs/padding_run.h"

namespace ronde::inline v0 {

Module& Symbol::layer() const {
  Module* layer = graph_->nodes()[static_cast<std::size_t>(node_)].layer;
  require<UsageError>(layer != nullptr, "[", graph_->label(), "] an input is not the result of a layer");
  return *layer;
}

std::vector<Shape> shapes_of(const std::vector<NetPart>& parts) {
  std::vector<Shape> shapes;
  for (const NetPart& part : parts) shapes.push_back(part.shape);
  return shapes;
}

Shape joined_shape(const std::vector<NetPart>& parts) {
  if (parts.size() == 1) return parts.front().shape;
  std::int64_t total = 0;
  for (const NetPart& part : parts) {
    const std::int64_t count = part.shape.count();
    require(count <= std::numeric_limits<std::int64_t>::max() - total, "[graph] rows of these parts, \"",
            part.name, "\" ", part.shape, " among them, are too long");
    total += count;
  }
  return {total};
}

std::vector<Variable> split_rows(const Variable& rows, const std::vector<NetPart>& parts) {
  return split_rows(rows, shapes_of(parts));
}

// --- construction

Symbol Graph::input(const std::string& name) {
  require<UsageError>(inputs_.empty(), "[", label(), "] has an input already; several have shapes");
  has_open_input_ = true;
  return add_input({name, {}});
}

Symbol Graph::input(const std::string& name, const Shape& shape) {
  require<UsageError>(children().empty(), "[", label(), "] its inputs come before its layers");
  require<UsageError>(!has_open_input_, "[", label(), "] has an input without a shape; several have shapes");
  return add_input({name, shape});
}

Symbol Graph::add_input(NetPart part) {
  require<UsageError>(!part.name.empty() && part.name.find('/') == std::string::npos, "[", label(),
                      "] cannot name its input \"", part.name, "\": a name is not empty and has no '/'");
  for (const NetPart& other : inputs_)
    require<UsageError>(other.name != part.name, "[", label(), "] has two inputs called \"", part.name, "\"");
  inputs_.push_back(std::move(part));
  nodes_.emplace_back();
  return {this, static_cast<int>(nodes_.size()) - 1};
}

Symbol Graph::append(std::unique_ptr<Module> layer, const std::vector<Symbol>& inputs) {
  require(layer != nullptr, "[", label(), "] cannot add a null pointer");
  require_open(*layer);
  const std::string name = name_for(*layer);
  return call(add_module(name, std::move(layer)), inputs);
}

Symbol Graph::append(Module& layer, const std::vector<Symbol>& inputs) {
  require_open(layer);
  if (!is_child(layer)) add_module(name_for(layer), layer);
  return call(layer, inputs);
}

void Graph::require_open(const Module& layer) const {
  require<UsageError>(!nodes_.empty(), "[", label(), "] has no input yet: call input() before adding ",
                      layer.label());
  require<UsageError>(outputs_.empty(), "[", label(), "] has its output already: ", layer.label(),
                      " cannot be added any more");
  const auto* net = dynamic_cast<const Graph*>(&layer);
  require<UsageError>(net == nullptr || !net->has_several_parts(), "[", label(), "] cannot call ",
                      layer.label(), ", which has several inputs or outputs");
}

void Graph::require_output() const {
  require<UsageError>(!outputs_.empty(), "[", label(), "] has no output: call output() with a symbol");
}

Symbol Graph::call(Module& layer, const std::vector<Symbol>& inputs) {
  require<UsageError>(!inputs.empty(), "[", label(), "] calls ", layer.label(), " with no inputs");
  GraphNode node{.layer = &layer};
  for (const Symbol& input : inputs) {
    require<UsageError>(input.graph_ == this, "[", label(), "] calls ", layer.label(),
                        " with the result of a layer of another graph");
    node.inputs.push_back(input.node_);
  }
  nodes_.push_back(std::move(node));
  return {this, static_cast<int>(nodes_.size()) - 1};
}

void Graph::set_by_place(const Symbol& result, std::size_t count) {
  nodes_.at(static_cast<std::size_t>(result.node_)).by_place = count;
}

void Graph::output(const std::vector<Symbol>& outputs) {
  require<UsageError>(outputs_.empty(), "[", label(), "] has its output already");
  require<UsageError>(!outputs.empty(), "[", label(), "] needs an output");
  std::vector<int> nodes;
  for (const Symbol& y : outputs) {
    require<UsageError>(y.graph_ == this, "[", label(), "] cannot give out the result of another graph");
    require<UsageError>(nodes_[static_cast<std::size_t>(y.node_)].layer != nullptr, "[", label(),
                        "] cannot give out its input: add a layer");
    require<UsageError>(std::find(nodes.begin(), nodes.end(), y.node_) == nodes.end(), "[", label(),
                        "] cannot give out the result of ", y.layer().label(), " twice");
    nodes.push_back(y.node_);
  }
  std::vector<int> last_use(nodes_.size(), -1);
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    for (const int input : nodes_[static_cast<std::size_t>(node)].inputs)
      last_use[static_cast<std::size_t>(input)] = node;
  // Every result that is used, is used later; so a call that does not lead to an output shows as one whose
  // result nothing uses.
  for (std::size_t node = 0; node < nodes_.size(); ++node)
    require<UsageError>(
        last_use[node] >= 0 || std::find(nodes.begin(), nodes.end(), static_cast<int>(node)) != nodes.end(),
        "[", label(), "] the result of ",
        nodes_[node].layer == nullptr ? inputs_[node].name : nodes_[node].layer->label(),
        " does not lead to the output");
  for (const int node : nodes) last_use[static_cast<std::size_t>(node)] = -1;
  last_use_ = std::move(last_use);
  outputs_ = std::move(nodes);
}

void Graph::output(const std::vector<std::pair<std::string, Symbol>>& outputs) {
  std::vector<Symbol> symbols;
  std::vector<std::string> names;
  for (const auto& [name, symbol] : outputs) {
    require<UsageError>(!name.empty() && std::find(names.begin(), names.end(), name) == names.end(), "[",
                        label(), "] cannot name an output \"", name,
                        "\": a name is not empty, and no other's");
    symbols.push_back(symbol);
    names.push_back(name);
  }
  output(symbols);
  output_names_ = std::move(names);
}

std::vector<NetPart> Graph::input_parts() const {
  std::vector<NetPart> parts = inputs_;
  if (has_open_input_ && is_built()) parts.front().shape = input_shape();
  return parts;
}

std::vector<NetPart> Graph::output_parts() const {
  std::vector<NetPart> parts;
  std::map<std::string, int> times;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::string& layer = nodes_[static_cast<std::size_t>(outputs_[i])].layer->name();
    const int before = times[layer]++;
    const std::string name = before == 0 ? layer : cat(layer, "_", before);
    parts.push_back({has_named_outputs() ? output_names_[i] : name,
                     output_shapes_.empty() ? Shape() : output_shapes_[i]});
  }
  return parts;
}

// --- computation

// How many layers were written to the span: that of node n and those behind it each of which alone takes the
// result of the one before it, one of them perhaps together with that of node `addend`; -1: none does.
std::size_t Graph::chain_from(std::size_t n, std::span<Module*> layers, int& addend) const {
  addend = -1;
  std::size_t count = 0;
  layers[count++] = nodes_[n].layer;
  for (; n + 1 < nodes_.size() && count < layers.size(); ++n) {
    const std::vector<int>& inputs = nodes_[n + 1].inputs;
    const int node = static_cast<int>(n);
    if (last_use_[n] != node + 1) break;
    if (inputs.size() == 2 && addend < 0 && inputs[0] != inputs[1])
      addend = inputs[0] == node ? inputs[1] : inputs[0];
    else if (inputs.size() != 1)
      break;
    layers[count++] = nodes_[n + 1].layer;
  }
  return count;
}

// How many nodes from n on were computed: a run of their layers, or n alone. A dry run calls each layer, to
// let it see its input.
std::size_t Graph::compute_first(std::size_t n, const std::vector<Variable>& results, Variable& y,
                                 const Context& context) const {
  Module& layer = *nodes_[n].layer;
  const auto result = [&](int node) {
    return node < 0 ? Variable() : results[static_cast<std::size_t>(node)];
  };
  std::vector<Variable> inputs;
  for (const int input : nodes_[n].inputs) inputs.push_back(result(input));
  const bool has_mask =
      std::any_of(inputs.begin(), inputs.end(), [](const Variable& x) { return x.mask().defined(); });
  if (context.trace == nullptr && !has_mask) {
    Chain room;
    int addend = -1;
    const std::span<Module* const> layers = std::span(room).first(chain_from(n, room, addend));
    if (inputs.size() > 1) {
      if (const std::size_t length = compute_run<AddRun>(layers, inputs, y, context)) return length;
    } else {
      const Variable& x = inputs.front();
      if (const std::size_t length = compute_run<ConvNormRun>(layers, x, y, context)) return length;
      if (const std::size_t length = compute_run<NormRun>(layers, RunInput{x, result(addend)}, y, context))
        return length;
      if (const std::size_t length = compute_run<PaddingRun>(layers, x, y, context)) return length;
    }
  }
  y = inputs.size() == 1 ? layer(inputs.front(), context) : layer(inputs, context);
  return 1;
}

Variable Graph::forward(const Variable& x, const Context& context) {
  require_output();
  std::vector<Variable> results = inputs_of(x);
  results.resize(nodes_.size());
  for (std::size_t n = inputs_.size(); n < nodes_.size();) {
    Variable y;
    const std::size_t end = n + compute_first(n, results, y, context);
    results[end - 1] = y;
    // What nobody needs any more goes, so that its memory can serve again.
    for (; n < end; ++n)
      for (const int input : nodes_[n].inputs) {
        const auto i = static_cast<std::size_t>(input);
        if (last_use_[i] == static_cast<int>(n)) results[i] = Variable();
      }
  }
  std::vector<Variable> outputs;
  for (const int node : outputs_) outputs.push_back(results[static_cast<std::size_t>(node)]);
  for (const Variable& y : outputs)
    require(
        outputs.size() == 1 || !y.mask().defined(), "[", label(),
        "] one of several outputs has a mask (Masking, or Embedding with mask_zero), which is not supported");
  if (context.trace != nullptr) {
    output_shapes_.clear();
    for (const Variable& y : outputs) output_shapes_.push_back(y.shape().tail(1));
  }
  return outputs.size() == 1 ? outputs.front() : join_rows(outputs);
}

std::vector<Variable> Graph::inputs_of(const Variable& x) const {
  if (has_open_input_) return {x};
  const Shape expected = joined_shape(inputs_);
  require<UsageError>(x.shape().tail(1) == expected, "[", label(), "] takes ", expected, " of its ",
                      counted(inputs_.size(), "input"), ", got ", x.shape().tail(1));
  return inputs_.size() == 1 ? std::vector<Variable>{x} : split_rows(x, inputs_);
}

std::vector<NetPart> several_outputs(const Module& net) {
  const auto* graph = dynamic_cast<const Graph*>(&net);
  return graph && graph->output_nodes().size() > 1 ? graph->output_parts() : std::vector<NetPart>();
}

}  // namespace ronde::inline v0
