#include <algorithm>
#include <map>
#include <set>

#include <ronde/nn/graph.h>
#include <ronde/nn/multi_head_attention.h>

namespace ronde::inline v0 {

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
