#include "export/layer_calls.h"

#include <ronde/nn/graph.h>
#include <ronde/nn/sequential.h>

namespace ronde::inline v0 {

namespace {

std::size_t add_calls(const Module& module, const std::vector<std::size_t>& inputs,
                      std::vector<LayerCall>& calls);

std::size_t add_graph(const Graph& graph, std::size_t input, std::vector<LayerCall>& calls) {
  std::vector<std::size_t> values{input};  // by node
  for (std::size_t i = 1; i < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    std::vector<std::size_t> inputs;
    for (const int from : node.inputs) inputs.push_back(values.at(static_cast<std::size_t>(from)));
    values.push_back(add_calls(*node.layer, inputs, calls));
  }
  return values.at(static_cast<std::size_t>(graph.output_node()));
}

/// Appends what `module` does with `inputs` and returns its output.
std::size_t add_calls(const Module& module, const std::vector<std::size_t>& inputs,
                      std::vector<LayerCall>& calls) {
  if (const auto* graph = dynamic_cast<const Graph*>(&module)) return add_graph(*graph, inputs.at(0), calls);
  if (dynamic_cast<const Sequential*>(&module) != nullptr) {
    std::size_t value = inputs.at(0);
    for (const Module* layer : module.children()) value = add_calls(*layer, {value}, calls);
    return value;
  }
  calls.push_back({&module, inputs});
  return calls.size();
}

}  // namespace

LayerCalls layer_calls(const Module& net) {
  LayerCalls result;
  result.output = add_calls(net, {0}, result.calls);
  return result;
}

}  // namespace ronde::inline v0
