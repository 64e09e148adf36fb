#include "export/layer_calls.h"

#include <ronde/nn/graph.h>
#include <ronde/nn/sequential.h>

namespace ronde::inline v0 {

namespace {

using Values = std::vector<std::size_t>;

Values add_calls(const Module& module, const Values& inputs, LayerCalls& calls);

Values add_graph(const Graph& graph, const Values& inputs, LayerCalls& calls) {
  Values values = inputs;  // by node
  for (std::size_t i = inputs.size(); i < graph.nodes().size(); ++i) {
    const GraphNode& node = graph.nodes()[i];
    Values of_call;
    for (const int from : node.inputs) of_call.push_back(values.at(static_cast<std::size_t>(from)));
    values.push_back(add_calls(*node.layer, of_call, calls).front());
  }
  Values outputs;
  for (const int node : graph.output_nodes()) outputs.push_back(values.at(static_cast<std::size_t>(node)));
  return outputs;
}

/// Appends what `module` does with `inputs` and returns its outputs.
Values add_calls(const Module& module, const Values& inputs, LayerCalls& calls) {
  if (const auto* graph = dynamic_cast<const Graph*>(&module))
    if (graph->path().empty() || !graph->has_several_parts()) return add_graph(*graph, inputs, calls);
  if (dynamic_cast<const Sequential*>(&module) != nullptr) {
    Values values = inputs;
    for (const Module* layer : module.children()) values = add_calls(*layer, values, calls);
    return values;
  }
  calls.calls.push_back({&module, inputs});
  return {calls.inputs.size() + calls.calls.size() - 1};
}

}  // namespace

LayerCalls layer_calls(const Module& net) {
  LayerCalls result;
  if (const auto* graph = dynamic_cast<const Graph*>(&net)) {
    result.inputs = graph->input_parts();
    result.outputs = graph->output_parts();
  } else {
    result.inputs = {{"", net.input_shape()}};
    result.outputs = {{"", net.output_shape().tail(1)}};
  }
  Values inputs;
  for (std::size_t i = 0; i < result.inputs.size(); ++i) inputs.push_back(i);
  result.output_values = add_calls(net, inputs, result);
  return result;
}

}  // namespace ronde::inline v0
