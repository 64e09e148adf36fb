// LSTM, GRU and SimpleRNN, which are operators of ONNX, and two of them as one.
#include <ronde/nn/bidirectional.h>
#include <ronde/nn/recurrent.h>

#include "export/onnx_builder.h"

namespace ronde::inline v0 {

namespace {

using Kind = Recurrent::Kind;

/// ONNX' name of an activation within a layer. Those that would need numbers beside it are left out.
std::string function(Activation::Kind kind, const Recurrent& layer) {
  switch (kind) {
    case Activation::relu:
      return "Relu";
    case Activation::elu:
      return "Elu";
    case Activation::sigmoid:
      return "Sigmoid";
    case Activation::tanh:
      return "Tanh";
    case Activation::softplus:
      return "Softplus";
    case Activation::softsign:
      return "Softsign";
    default:
      throw Error(cat("[onnx] layer ", layer.label(), " has activation ", to_string(kind),
                      ", which cannot be exported of a recurrent layer"));
  }
}

/// Of the gates, then of what they let through: once, of an LSTM twice.
std::vector<std::string> functions(const Recurrent& layer) {
  const std::string inner = function(layer.options().activation, layer);
  if (layer.kind() == Kind::simple_rnn) return {inner};
  std::vector<std::string> names{function(layer.options().recurrent_activation, layer), inner};
  if (layer.kind() == Kind::lstm) names.push_back(inner);
  return names;
}

/// The columns i, f, c, o of an LSTM as i, o, f, c; others as they are.
Tensor ordered(const Recurrent& layer, const Tensor& columns) {
  if (layer.kind() != Kind::lstm) return columns;
  const std::int64_t units = layer.options().units;
  const std::vector<Variable> parts = split(columns, {units, 2 * units, units}, 1);
  return concat({parts[0], parts[2], parts[1]}, 1).value();
}

/// (1, gates * units, features), (1, gates * units, units) and, if there is a bias, (1, 2 * gates * units),
/// which are added to the products of the inputs and of the state.
std::vector<std::string> weights(OnnxBuilder& builder, const Recurrent& layer) {
  std::vector<std::string> names;
  const auto add = [&](const char* name, const Tensor& values) {
    names.push_back(builder.constant(cat(layer.label(), "/", name), values));
  };
  Tensor kernel;
  for (const char* name : {"kernel", "recurrent_kernel"}) {
    kernel = ordered(layer, builder.weight(layer, name)).permute({1, 0});
    add(name, kernel.reshape({1, kernel.size(0), kernel.size(1)}));
  }
  if (!layer.options().use_bias) return names;
  const Tensor bias = ordered(layer, builder.weight(layer, "bias").reshape({-1, kernel.size(0)}));
  const Tensor both = Tensor::zeros({2, kernel.size(0)}, bias.options());
  both.slice(0, 0, bias.size(0)).copy_from(bias);
  add("bias", both.reshape({1, both.count()}));
  return names;
}

/// (N, steps, c) <-> (steps, N, c)
std::string transposed(OnnxGraph& graph, const std::string& value, const std::string& name) {
  std::vector<OnnxAttribute> attributes(1);
  attributes[0] = {"perm", std::vector<std::int64_t>{1, 0, 2}};
  return graph.add_node("Transpose", name, {value}, std::move(attributes));
}

std::vector<OnnxAttribute> attributes_of(const Recurrent& layer) {
  std::vector<OnnxAttribute> attributes;
  const auto add = [&](const char* name, decltype(OnnxAttribute::value) value) {
    attributes.push_back({name, std::move(value)});
  };
  add("hidden_size", layer.options().units);
  add("activations", functions(layer));
  if (layer.options().go_backwards) add("direction", std::string("reverse"));
  if (layer.kind() == Kind::gru) add("linear_before_reset", std::int64_t{layer.options().reset_after});
  return attributes;
}

/// The layer's states, or its last one. Those of all steps lie in the order of the inputs.
OnnxValue states(OnnxBuilder& builder, const Recurrent& layer, const OnnxValue& x) {
  static constexpr const char* kOperators[] = {"RNN", "GRU", "LSTM"};
  OnnxGraph& graph = builder.graph();
  const std::string name = layer.label();
  std::vector<std::string> inputs = weights(builder, layer);
  inputs.insert(inputs.begin(), transposed(graph, x.name, name));
  // (steps, 1, N, units), or as the second output (1, N, units)
  const int last_only = layer.options().return_sequences ? 0 : 1;
  const std::string result = graph.add_node(kOperators[static_cast<int>(layer.kind())], name,
                                            std::move(inputs), attributes_of(layer), last_only);
  const std::string axis = graph.add_constant("direction", std::vector<std::int64_t>{1 - last_only});
  const std::string one_way = graph.add_node("Squeeze", name, {result, axis});
  if (last_only) return {one_way, {layer.options().units}};
  return {transposed(graph, one_way, name), {x.shape[0], layer.options().units}};
}

/// In the order of a layer that goes backwards, whose last step comes first.
OnnxValue in_order_of(OnnxBuilder& builder, const Recurrent& layer, const OnnxValue& states) {
  if (!layer.options().go_backwards || !layer.options().return_sequences) return states;
  std::vector<std::int64_t> steps;
  for (std::int64_t step = states.shape[0]; step-- > 0;) steps.push_back(step);
  return builder.add("Gather", layer.label(), {states}, {builder.graph().add_constant("backwards", steps)},
                     states.shape, {{"axis", std::int64_t{1}}});
}

}  // namespace

OnnxValue onnx_recurrent(const OnnxCall& call) {
  const auto& layer = dynamic_cast<const Recurrent&>(call.layer);
  const OnnxValue x = call.builder.channels_last(call.input());
  return in_order_of(call.builder, layer, states(call.builder, layer, x));
}

OnnxValue onnx_bidirectional(const OnnxCall& call) {
  static constexpr const char* kOperators[] = {"Concat", "Add", "Mul", "Mean"};
  const auto& layer = dynamic_cast<const Bidirectional&>(call.layer);
  const OnnxValue x = call.builder.channels_last(call.input());
  const std::vector<OnnxValue> both{states(call.builder, layer.forward_layer(), x),
                                    states(call.builder, layer.backward_layer(), x)};
  Shape shape = both[0].shape;
  std::vector<OnnxAttribute> attributes;
  if (layer.merge_mode() == MergeMode::concat) {
    shape[-1] += both[1].shape.back();
    attributes.push_back({"axis", std::int64_t{-1}});
  }
  const OnnxValue merged = call.builder.add(kOperators[static_cast<int>(layer.merge_mode())], call.name(),
                                            both, {}, shape, std::move(attributes));
  return in_order_of(call.builder, layer.forward_layer(), merged);
}

}  // namespace ronde::inline v0
