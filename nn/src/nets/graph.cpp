#include <ronde/nn/graph.h>

#include <algorithm>

#include "config/auto_name.h"
#include "runs/add_run.h"
#include "runs/conv_norm_run.h"
#include "runs/norm_run.h"
#include "runs/padding_run.h"

namespace ronde::inline v0 {

Module& Symbol::layer() const {
  Module* layer = graph_->nodes()[static_cast<std::size_t>(node_)].layer;
  require<UsageError>(layer != nullptr, "[", graph_->label(), "] the input is not the result of a layer");
  return *layer;
}

// --- construction

Symbol Graph::input(const std::string& name) {
  require<UsageError>(nodes_.empty(), "[", label(), "] has its input already; only one is supported");
  require<UsageError>(!name.empty() && name.find('/') == std::string::npos, "[", label(),
                      "] cannot name its input \"", name, "\": a name is not empty and has no '/'");
  input_name_ = name;
  nodes_.emplace_back();
  return {this, 0};
}

Symbol Graph::append(std::unique_ptr<Module> layer, const std::vector<Symbol>& inputs) {
  require(layer != nullptr, "[", label(), "] cannot add a null pointer");
  require_open(*layer);
  const std::string name = layer->name().empty() ? auto_name(*layer, children()) : layer->name();
  return call(add_module(name, std::move(layer)), inputs);
}

Symbol Graph::append(Module& layer, const std::vector<Symbol>& inputs) {
  require_open(layer);
  const std::vector<Module*> known = children();
  if (std::find(known.begin(), known.end(), &layer) == known.end())
    add_module(layer.name().empty() ? auto_name(layer, known) : layer.name(), layer);
  return call(layer, inputs);
}

void Graph::require_open(const Module& layer) const {
  require<UsageError>(!nodes_.empty(), "[", label(), "] has no input yet: call input() before adding ",
                      layer.label());
  require<UsageError>(output_ < 0, "[", label(), "] has its output already: ", layer.label(),
                      " cannot be added any more");
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

void Graph::output(const Symbol& y) {
  require<UsageError>(output_ < 0, "[", label(), "] has its output already; only one is supported");
  require<UsageError>(y.graph_ == this, "[", label(), "] cannot give out the result of another graph");
  require<UsageError>(y.node_ != 0, "[", label(), "] cannot give out its input: add a layer");
  std::vector<int> last_use(nodes_.size(), -1);
  for (int node = 0; node < static_cast<int>(nodes_.size()); ++node)
    for (const int input : nodes_[static_cast<std::size_t>(node)].inputs)
      last_use[static_cast<std::size_t>(input)] = node;
  // Every result that is used, is used later; so a call that does not lead to the output shows as one whose
  // result nothing uses.
  for (std::size_t node = 0; node < nodes_.size(); ++node)
    require<UsageError>(last_use[node] >= 0 || static_cast<int>(node) == y.node_, "[", label(),
                        "] the result of ", node == 0 ? input_name_ : nodes_[node].layer->label(),
                        " does not lead to the output");
  last_use_ = std::move(last_use);
  output_ = y.node_;
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
  if (context.trace == nullptr) {
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
  require<UsageError>(output_ >= 0, "[", label(), "] has no output: call output() with a symbol");
  std::vector<Variable> results(nodes_.size());
  results[0] = x;
  for (std::size_t n = 1; n < nodes_.size();) {
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
  return results[static_cast<std::size_t>(output_)];
}

}  // namespace ronde::inline v0
