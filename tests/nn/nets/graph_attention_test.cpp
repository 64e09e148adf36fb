// Calls of attentions in the configs of nets: Note [Arguments of calls].
#include <ronde/nn/attention.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/multi_head_attention.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

MultiHeadAttention attention(bool causal = false) {
  return MultiHeadAttention({.num_heads = 2, .key_dim = 3, .use_causal_mask = causal});
}

/// A net of inputs x, y and z and an attention with these calls.
std::string attention_net(const std::string& calls, const std::string& class_name = "MultiHeadAttention") {
  std::string layers;
  for (const char* name : {"x", "y", "z"})
    layers += cat(R"({"class_name": "InputLayer", "name": ")", name, R"(", "inbound_nodes": [],
                      "config": {"name": ")",
                  name, R"(", "batch_shape": [null, 4, 6]}},)");
  return cat(R"({"name": "net", "input_layers": [["x", 0, 0], ["y", 0, 0], ["z", 0, 0]],
                 "output_layers": ["a", 0, 0], "layers": [)",
             layers, R"({"class_name": ")", class_name, R"(",
                 "name": "a", "config": {"name": "a", "num_heads": 2, "key_dim": 3}, "inbound_nodes": [)",
             calls, "]}]}");
}

/// Keras 3's result of an input.
std::string keras_tensor(const std::string& name) {
  return cat(R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 4, 6], "dtype": "float32",
                 "keras_history": [")",
             name, R"(", 0, 0]}})");
}

std::string keras3(const std::string& positional, const std::string& named = "") {
  return cat(R"({"args": [)", positional, R"(], "kwargs": {)", named, "}}");
}

std::string keras2(const std::string& arguments) {
  return cat(R"([["x", 0, 0, {)", arguments, "}]]");
}

struct Read {
  std::vector<int> inputs;
  bool is_causal;
  bool operator==(const Read&) const = default;
};

/// Of a net that uses its other inputs, too, or Graph would refuse it.
Read read_call(const std::string& call, const std::string& class_name = "MultiHeadAttention") {
  std::string json = attention_net(call, class_name);
  const auto add = [&](const std::string& at, const std::string& text) { json.insert(json.rfind(at), text); };
  add("]}", cat(R"(, {"class_name": "Add", "name": "sum", "config": {"name": "sum"}, "inbound_nodes": [)",
                keras3(cat("[", keras_tensor("a"), ", ", keras_tensor("x"), ", ", keras_tensor("y"), ", ",
                           keras_tensor("z"), "]")),
                "]}"));
  json.replace(json.find(R"(["a", 0, 0])"), 11, R"(["sum", 0, 0])");
  const auto net = parse("Functional", json);
  const GraphNode& node = dynamic_cast<const Graph&>(*net).nodes()[3];
  return {node.inputs, dynamic_cast<const AttentionLayer&>(*node.layer).use_causal_mask()};
}

TEST(GraphAttention, ReadsTheCallsOfBothKerases) {
  const std::string x = keras_tensor("x"), y = keras_tensor("y"), z = keras_tensor("z");
  EXPECT_EQ(read_call(keras3(cat(x, ", ", x))), (Read{{0}, false}));
  EXPECT_EQ(read_call(keras3(cat(x, ", ", x, ", ", x), R"("use_causal_mask": true)")), (Read{{0}, true}));
  EXPECT_EQ(read_call(keras3(cat(x, ", ", y))), (Read{{0, 1}, false}));
  EXPECT_EQ(read_call(keras3(cat(x, ", ", y, ", ", z))), (Read{{0, 1, 2}, false}));
  EXPECT_EQ(read_call(keras3(cat(x, ", ", y, ", ", x))), (Read{{0, 1, 0}, false}));
  EXPECT_EQ(read_call(keras3(cat(x, ", ", x, ", ", y))), (Read{{0, 0, 1}, false}));
  EXPECT_EQ(read_call(keras3(x, cat(R"("key": )", z, R"(, "value": )", y, R"(, "attention_mask": null,
                               "return_attention_scores": false, "training": false)"))),
            (Read{{0, 1, 2}, false}));
  EXPECT_EQ(read_call(keras3("", cat(R"("query": )", y, R"(, "value": )", y))), (Read{{1}, false}));
  EXPECT_EQ(read_call(keras2(R"("value": ["x", 0, 0], "use_causal_mask": true)")), (Read{{0}, true}));
  EXPECT_EQ(read_call(keras2(R"("value": ["y", 0, 0])")), (Read{{0, 1}, false}));
  EXPECT_EQ(read_call(keras2(R"("value": ["y", 0, 0], "key": ["z", 0, 0], "attention_mask": null)")),
            (Read{{0, 1, 2}, false}));
}

TEST(GraphAttention, RefusesCallsThatWouldGiveSomethingElse) {
  const auto message = [](const std::string& calls) {
    const std::string json = attention_net(calls);
    EXPECT_THROW(parse("Functional", json), InputError) << calls;
    return message_of([&] { parse("Functional", json); });
  };
  const std::string call = R"([Functional "net"] inbound_nodes: a call of the MultiHeadAttention "a" )";
  const std::string x = keras_tensor("x"), both = cat(x, ", ", x);
  EXPECT_EQ(message(keras3(both, cat(R"("attention_mask": )", x))),
            call + "has the argument \"attention_mask\", which is not supported");
  EXPECT_EQ(message(keras3(both, R"("return_attention_scores": true)")),
            call + "has the argument \"return_attention_scores\", which is not supported");
  EXPECT_EQ(message(keras3(both, R"("training": true)")),
            call + "has the argument \"training\", which is not supported");
  EXPECT_EQ(message(keras3(cat(both, ", ", both))), call + "has more than 3 inputs");
  EXPECT_EQ(message(keras3(x)), call + "has no value");
  EXPECT_EQ(message(keras3("", cat(R"("value": )", x))), call + "has no query");
  EXPECT_EQ(message(keras3(cat(x, ", 3"))), call + "takes something that is not a layer's result");
  EXPECT_EQ(message(R"([["x", 0, 0, {}], ["y", 0, 0, {}]])"),
            call + "is not [[layer, call, result, arguments]]");
  EXPECT_EQ(message(R"([["x", 0, 0]])"), call + "is not [[layer, call, result, arguments]]");
  EXPECT_EQ(message(keras2(R"("value": ["x", 0, 0], "attention_mask": ["y", 0, 0])")),
            call + "has the argument \"attention_mask\", which is not supported");
  EXPECT_EQ(message(keras2(R"("value": ["w", 0, 0])")),
            "[Functional \"net\"] inbound_nodes: there is no layer \"w\"");
  EXPECT_EQ(message(cat(keras3(both), ", ", keras3(both, R"("use_causal_mask": true)"))),
            call + "has another use_causal_mask than the one before, which is not supported");
}

// Their inputs are one argument, a list, as those of an Add are.
TEST(GraphAttention, ReadsTheCallsOfLayersWithAListOfInputs) {
  const std::string x = keras_tensor("x"), y = keras_tensor("y"), z = keras_tensor("z");
  for (const char* layer : {"Attention", "AdditiveAttention"}) {
    EXPECT_EQ(read_call(keras3(cat("[", x, ", ", x, "]")), layer), (Read{{0, 0}, false}));
    EXPECT_EQ(read_call(keras3(cat("[", x, ", ", y, ", ", z, "]"),
                               R"("use_causal_mask": true, "mask": null, "training": false,
                                  "return_attention_scores": false)"),
                        layer),
              (Read{{0, 1, 2}, true}));
    EXPECT_EQ(read_call(R"([["x", 0, 0, {}], ["y", 0, 0, {}]])", layer), (Read{{0, 1}, false}));
    EXPECT_EQ(read_call(R"([["x", 0, 0, {"use_causal_mask": true}], ["y", 0, 0, {"use_causal_mask": true}]])",
                        layer),
              (Read{{0, 1}, true}));
  }
}

TEST(GraphAttention, RefusesCallsOfLayersWithAListOfInputs) {
  const auto message = [](const std::string& calls) {
    const std::string json = attention_net(calls, "Attention");
    EXPECT_THROW(parse("Functional", json), InputError) << calls;
    return message_of([&] { parse("Functional", json); });
  };
  const std::string call = R"([Functional "net"] inbound_nodes: a call of the Attention "a" )";
  const std::string both = cat("[", keras_tensor("x"), ", ", keras_tensor("y"), "]");
  EXPECT_EQ(message(keras3(both, R"("mask": [null, null])")),
            call + "has the argument \"mask\", which is not supported");
  EXPECT_EQ(message(R"([["x", 0, 0, {"mask": [null, null]}], ["y", 0, 0, {"mask": [null, null]}]])"),
            call + "has the argument \"mask\", which is not supported");
  EXPECT_EQ(message(keras3(both, R"("return_attention_scores": true)")),
            call + "has the argument \"return_attention_scores\", which is not supported");
  EXPECT_EQ(message(cat(keras3(both), ", ", keras3(both, R"("use_causal_mask": true)"))),
            call + "has another use_causal_mask than the one before, which is not supported");
}

TEST(GraphAttention, CallsWithAListOfInputsComeBackFromTheConfig) {
  Graph net;
  const Symbol x = net.input("x", {4, 6}), memory = net.input("memory", {5, 6});
  const Symbol within = net.add(AdditiveAttention({.use_causal_mask = true}), {x, x});
  const Symbol across = net.add(Attention({.use_scale = true}), {within, memory});
  net.output(net.add(across.layer(), {across, memory, memory}));
  net.build(joined_shape(net.input_parts()));
  const auto copy = layer_from_config("Functional", net.config());
  copy->build(net.input_shape());
  EXPECT_EQ(text(*copy), text(net));
  const Tensor rows = random_tensor({2, 54}).to(DType::f32).to(default_backend());
  EXPECT_EQ((*copy)(rows).value().to_vector<float>(), net(rows).value().to_vector<float>());
  // Both Kerases read these.
  const ordered_json config = to_json(net.config());
  EXPECT_EQ(config["layers"][2]["inbound_nodes"], ordered_json::parse(R"(
      [[["x", 0, 0, {"use_causal_mask": true}], ["x", 0, 0, {"use_causal_mask": true}]]])"));
}

/// The layers, as they are in the files of Keras, of a net that describes them in this order: an attention
/// "a" with this call, and a Dense for each other name.
std::string order_of(const std::vector<std::string>& layers, const std::string& call) {
  std::string json = R"({"name": "net", "input_layers": [["x", 0, 0]], "output_layers": [["a", 0, 0]],
    "layers": [{"class_name": "InputLayer", "name": "x", "inbound_nodes": [], "config": {"name": "x"}})";
  const std::string dense =
      R"(, {"class_name": "Dense", "name": "NAME", "config": {"units": 2, "name": "NAME"},
                                  "inbound_nodes": [[["x", 0, 0, {}]]]})";
  for (const std::string& name : layers) {
    std::string layer = dense;
    for (std::size_t at; (at = layer.find("NAME")) != std::string::npos;) layer.replace(at, 4, name);
    json += name == "a" ? cat(R"(, {"class_name": "MultiHeadAttention", "name": "a", "config": {"name": "a",
                                "num_heads": 2, "key_dim": 3}, "inbound_nodes": [)",
                              call, "]}")
                        : layer;
  }
  const auto net = parse("Functional", json + "]}");
  std::string order;
  for (const Module* layer : dynamic_cast<const Graph&>(*net).layers()) order += layer->name();
  return order;
}

// Whose weights are whose in a file is told by the order of layers alone.
TEST(GraphAttention, WhatIsInFrontOfAKeyHasItsPlaceInTheOrderOfLayers) {
  const std::string call = keras2(R"("value": ["v", 0, 0], "key": ["k", 0, 0])");
  EXPECT_EQ(order_of({"v", "k", "a"}, call), "vka");  // attention(x, v, k)
  EXPECT_EQ(order_of({"k", "v", "a"}, call), "kva");  // attention(x, value=v, key=k)
  EXPECT_EQ(message_of([&] {
              order_of({"v", "a", "k"}, call);
            }),
            "[Functional \"net\"] layers: their order is not that of Keras, so it is not known whose weights "
            "are whose");
  const std::string q = keras_tensor("q"), v = keras_tensor("v"), k = keras_tensor("k");
  const std::string named = cat(R"("query": )", q, R"(, "value": )", v, R"(, "key": )");
  EXPECT_EQ(order_of({"q", "k", "v", "a"}, keras3("", named + k)), "kqva");
  EXPECT_EQ(order_of({"q", "v", "a"}, keras3("", named + v)), "vqa");
  EXPECT_EQ(order_of({"q", "v", "a"}, keras3(q, cat(R"("value": )", v, R"(, "key": )", v))), "qva");
  EXPECT_EQ(order_of({"q", "k", "v", "a"}, keras3(cat(q, ", ", v, ", ", k))), "qvka");
}

TEST(GraphAttention, ItsCallsComeBackFromTheConfig) {
  Graph net;
  const Symbol x = net.input("x", {4, 6}), memory = net.input("memory", {5, 6});
  const Symbol within = net.add(attention(true), x);
  const Symbol again = net.add(within.layer(), {x, within});
  const Symbol across = net.add(attention(), {again, memory});
  const Symbol back = net.add(attention(), {memory, x});
  const Symbol last = net.add(attention(), {across, memory, net.add(Dense({.units = 4}), memory)});
  const Symbol used = net.add(back.layer(), {net.add(attention(), {x, back}), x});
  net.output({last, used});
  net.build(joined_shape(net.input_parts()), in_f64());
  randomize(net);
  const auto copy = layer_from_config("Functional", net.config());
  copy->build(net.input_shape(), in_f64());
  EXPECT_EQ(text(*copy), text(net));
  const std::vector<Parameter> from = net.parameters(), to = copy->parameters();
  ASSERT_EQ(to.size(), from.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    EXPECT_EQ(to[i].name, from[i].name);
    Variable(to[i].variable).assign(from[i].variable.value());
  }
  const Tensor rows = random_tensor({2, 54});
  EXPECT_EQ((*copy)(rows).value().to_vector<double>(), net(rows).value().to_vector<double>());
}

}  // namespace
}  // namespace ronde::test
