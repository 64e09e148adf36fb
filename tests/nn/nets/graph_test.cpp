#include <ronde/nn/graph.h>

#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/sequential.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

std::vector<std::string> names(const std::vector<Module*>& layers) {
  std::vector<std::string> result;
  for (const Module* layer : layers) result.push_back(layer->name());
  return result;
}

std::vector<std::string> weight_names(const Module& net) {
  std::vector<std::string> result;
  for (const Parameter& parameter : net.parameters()) result.push_back(parameter.name);
  return result;
}

using Names = std::vector<std::string>;

/// A residual block whose shortcut is called first, and a layer shared by two branches.
std::unique_ptr<Graph> block() {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input();
  const Symbol shortcut = net->add(Conv2D({.filters = 3, .kernel = {1, 1}, .strides = {2, 2}}), x);
  Symbol y = net->add(Conv2D({.filters = 2, .padding = Padding::same, .activation = Activation::tanh}), x);
  y = net->add(y.layer(), y);
  y = net->add(Conv2D({.filters = 3, .strides = {2, 2}, .padding = Padding::same}), y);
  y = net->add(Add(), {shortcut, y});
  y = net->add(GlobalAveragePooling2D(), y);
  net->output(net->add(Dense({.units = 2}), y));
  return net;
}

TEST(Graph, ComputesWhatTheSameCallsDo) {
  const auto net = block();
  net->build({4, 4, 2}, in_f64());
  randomize(*net);
  const Tensor x = random_tensor({3, 4, 4, 2});
  const std::vector<Module*> layers = net->children();
  Module &shortcut = *layers[0], &shared = *layers[1], &second = *layers[2], &add = *layers[3];
  const Variable joined = add({shortcut(x), second(shared(shared(x)))});
  const Variable expected = (*layers[5])((*layers[4])(joined));
  EXPECT_EQ((*net)(x).value().to_vector<double>(), expected.value().to_vector<double>());
  EXPECT_EQ(net->output_shape(), (Shape{1, 2}));
}

TEST(Graph, HasRightGradients) {
  const auto net = block();
  net->build({4, 4, 2}, in_f64());
  randomize(*net);
  expect_module_gradients(*net, random_tensor({2, 4, 4, 2}));
}

TEST(Graph, NamesAreKerasAndWeightsComeInOrderOfExecution) {
  const auto net = block();
  net->build({4, 4, 2}, in_f64());
  EXPECT_EQ(names(net->children()),
            (Names{"conv2d", "conv2d_1", "conv2d_2", "add", "global_average_pooling2d", "dense"}));
  EXPECT_EQ(weight_names(*net), (Names{"conv2d/kernel", "conv2d/bias", "conv2d_1/kernel", "conv2d_1/bias",
                                       "conv2d_2/kernel", "conv2d_2/bias", "dense/kernel", "dense/bias"}));
  ASSERT_EQ(net->nodes().size(), 8u);
  EXPECT_EQ(net->nodes()[0].layer, nullptr);
  EXPECT_EQ(net->nodes()[3].layer, net->nodes()[2].layer);
  EXPECT_EQ(net->nodes()[5].inputs, (std::vector<int>{1, 4}));
  EXPECT_EQ(net->output_nodes(), std::vector<int>{7});
}

TEST(Graph, LayersAreInTheOrderOfKeras) {
  // Real Keras (2.15 and 3.15) lists the same net so: the shortcut is nearer to the output.
  EXPECT_EQ(names(block()->layers()),
            (Names{"conv2d_1", "conv2d", "conv2d_2", "add", "global_average_pooling2d", "dense"}));
}

TEST(Graph, GivesSharedLayersOneSetOfWeights) {
  Graph net;
  const Symbol x = net.input();
  const Symbol a = net.add(Dense({.units = 3}), x);
  const Symbol b = net.add(a.layer(), a);
  net.output(net.add(Subtract(), {a, b}));
  net.build({3}, in_f64());
  EXPECT_EQ(net.parameter_count(), 12);
  expect_module_gradients(net, random_tensor({2, 3}));
}

TEST(Graph, CallsLayersThatTheCallerKeeps) {
  struct Net : Graph {
    Dense hidden{{.units = 3, .name = "hidden"}};
    Net() {
      const Symbol x = input("pixels");
      const Symbol y = add(hidden, x);
      output(add(hidden, y));
    }
  } net;
  net.build({3});
  EXPECT_EQ(weight_names(net), (Names{"hidden/kernel", "hidden/bias"}));
  EXPECT_EQ(net.input_parts().front().name, "pixels");
}

TEST(Graph, MovesWithItsLayers) {
  Graph net;
  net.output(net.add(Dense({.units = 2}), net.input()));
  net.build({3}, in_f64());
  const Tensor x = random_tensor({2, 3});
  const std::vector<double> expected = net(x).value().to_vector<double>();
  Graph moved(std::move(net));
  EXPECT_EQ(moved(x).value().to_vector<double>(), expected);
  EXPECT_EQ(weight_names(moved), (Names{"dense/kernel", "dense/bias"}));
}

TEST(Graph, NestsInBothWays) {
  const auto make = [] {
    Graph inner;
    const Symbol x = inner.input();
    inner.output(inner.add(Add(), {x, inner.add(Dense({.units = 3}), x)}));
    return inner;
  };
  Graph outer;
  Symbol y = outer.add(make(), outer.input());
  y = outer.add(y.layer(), y);
  y = outer.add(Sequential(Dense({.units = 3}), make()), y);
  outer.output(outer.add(Dense({.units = 1}), y));
  outer.build({3}, in_f64());
  EXPECT_EQ(weight_names(outer),
            (Names{"functional/dense/kernel", "functional/dense/bias", "sequential/dense/kernel",
                   "sequential/dense/bias", "sequential/functional/dense/kernel",
                   "sequential/functional/dense/bias", "dense/kernel", "dense/bias"}));
  expect_module_gradients(outer, random_tensor({2, 3}));
}

TEST(Graph, TrainsBatchNormalizationAndDropoutLikeAnyModule) {
  Graph net;
  Symbol y = net.add(BatchNormalization({.momentum = 0.5}), net.input());
  y = net.add(Dropout(0.5), y);
  net.output(net.add(Add(), {y, y}));
  net.build({4}, in_f64());
  const Tensor x = random_tensor({8, 4});
  const std::vector<double> before = find_parameter(net, "moving_mean").variable.value().to_vector<double>();
  const std::vector<double> y1 = net(x, {.training = true, .seed = 3}).value().to_vector<double>();
  EXPECT_NE(find_parameter(net, "moving_mean").variable.value().to_vector<double>(), before);
  EXPECT_GT(std::count(y1.begin(), y1.end(), 0.0), 0);
}

TEST(Graph, ErrorsNameTheLayerAndTheShapes) {
  Graph net;
  const Symbol x = net.input();
  const Symbol small = net.add(Conv2D({.filters = 2}), x);
  const Symbol same = net.add(Conv2D({.filters = 2, .padding = Padding::same}), x);
  net.output(net.add(Add(), {small, same}));
  EXPECT_EQ(message_of([&] {
              net.build({6, 6, 1});
            }),
            "[add] cannot merge inputs of shapes (1, 4, 4, 2) and (1, 6, 6, 2)");

  Graph inner;
  inner.output(inner.add(Dense({.units = 2}), inner.input()));
  inner.set_name("head");
  Graph outer;
  const Symbol a = outer.add(std::move(inner), outer.input());
  outer.output(outer.add(a.layer(), a));
  EXPECT_EQ(message_of([&] { outer.build({5}); }), "[head/dense] expects 5 inputs, got 2");
}

TEST(Graph, ConstructionErrorsSayWhatToDo) {
  Graph net, other;
  EXPECT_EQ(message_of([&] { net.add(Flatten(), other.input()); }),
            "[functional] has no input yet: call input() before adding flatten");
  const Symbol x = net.input("in");
  EXPECT_EQ(message_of([&] { net.input(); }), "[functional] has an input already; several have shapes");
  EXPECT_EQ(message_of([&] { x.layer(); }), "[functional] an input is not the result of a layer");
  EXPECT_EQ(message_of([&] { net.output(x); }), "[functional] cannot give out its input: add a layer");
  EXPECT_EQ(message_of([&] { net.build({2}); }), "[functional] has no output: call output() with a symbol");
  const Symbol y = net.add(Dense({.units = 2}), x);
  EXPECT_EQ(message_of([&] { other.add(Flatten(), y); }),
            "[functional] calls flatten with the result of a layer of another graph");
  EXPECT_EQ(message_of([&] { net.add(Add(), std::vector<Symbol>{}); }),
            "[functional] calls add with no inputs");
  net.add(Dense({.units = 2, .name = "lost"}), y);
  EXPECT_EQ(message_of([&] { net.output(y); }),
            "[functional] the result of lost does not lead to the output");
  EXPECT_THROW(net.add(Dense({.units = 1, .name = "lost"}), y), Error);

  Graph done;
  const Symbol z = done.add(Flatten(), done.input());
  done.output(z);
  EXPECT_EQ(message_of([&] { done.output(z); }), "[functional] has its output already");
  EXPECT_EQ(message_of([&] { done.add(Flatten(), z); }),
            "[functional] has its output already: flatten cannot be added any more");
}

// --- configs

TEST(GraphConfig, IsWhatBothKerasesRead) {
  Graph net;
  const Symbol x = net.input();
  const Symbol a = net.add(Flatten(), x);
  const Symbol b = net.add(a.layer(), a);
  net.output(net.add(Concatenate(), {a, b, a}));
  net.build({2, 2, 1});
  EXPECT_EQ(text(net), ordered_json::parse(R"({"name": "functional", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 2, 2, 1], "dtype": "float32",
     "sparse": false, "name": "input_1"}, "name": "input_1", "inbound_nodes": []},
    {"class_name": "Flatten", "config": {"name": "flatten", "trainable": true, "dtype": "float32",
     "data_format": "channels_last"}, "name": "flatten",
     "inbound_nodes": [[["input_1", 0, 0, {}]], [["flatten", 0, 0, {}]]]},
    {"class_name": "Concatenate", "config": {"name": "concatenate", "trainable": true, "dtype": "float32",
     "axis": -1}, "name": "concatenate",
     "inbound_nodes": [[["flatten", 0, 0, {}], ["flatten", 1, 0, {}], ["flatten", 0, 0, {}]]]}],
   "input_layers": ["input_1", 0, 0], "output_layers": ["concatenate", 0, 0]})")
                           .dump());
}

TEST(GraphConfig, SurvivesARoundTripWithItsWeights) {
  Graph outer;
  Symbol y = outer.add(std::move(*block()), outer.input());
  y = outer.add(Sequential(Dense({.units = 4}), Dropout(0.5)), y);
  y = outer.add(y.layer(), outer.add(Dense({.units = 2}), y));
  outer.output(outer.add(Dense({.units = 3}), y));
  outer.build({4, 4, 2}, in_f64());
  const auto copy = layer_from_config("Functional", outer.config());
  copy->build({4, 4, 2}, in_f64());
  EXPECT_EQ(text(*copy), text(outer));
  EXPECT_EQ(weight_names(*copy), weight_names(outer));
  const Tensor x = random_tensor({2, 4, 4, 2});
  EXPECT_EQ((*copy)(x).value().to_vector<double>(), outer(x).value().to_vector<double>());
}

/// A net of two Dense layers, "a" and "b", with these calls.
std::string two_layers(const std::string& calls_of_a, const std::string& calls_of_b,
                       const std::string& output = R"([["b", 0, 0]])") {
  return cat(R"({"name": "net", "layers": [
    {"class_name": "InputLayer", "config": {"name": "in"}, "name": "in", "inbound_nodes": []},
    {"class_name": "Dense", "config": {"name": "b", "units": 3}, "name": "b", "inbound_nodes": )",
             calls_of_b, R"(},
    {"class_name": "Dense", "config": {"name": "a", "units": 3}, "name": "a", "inbound_nodes": )",
             calls_of_a, R"(}],
    "input_layers": ["in", 0, 0], "output_layers": )",
             output, "}");
}

std::string keras3_call(const std::string& layer, int call) {
  return cat(R"({"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 3],
             "dtype": "float32", "keras_history": [")",
             layer, "\", ", call, R"(, 0]}}], "kwargs": {"training": false, "mask": null}})");
}

TEST(GraphConfig, ReadsCallsInAnyOrder) {
  // a(b(a(b(in)))), in the form of Keras 2 and in that of Keras 3; the calls not in the order of execution.
  const std::string keras2 = two_layers(R"([[["b", 0, 0, {}]], [["b", 1, 0]]])",
                                        R"([[["in", 0, 0, {}]], [["a", 0, 0, {}]]])", R"([["a", 1, 0]])");
  const std::string keras3 =
      two_layers(cat("[", keras3_call("b", 0), ", ", keras3_call("b", 1), "]"),
                 cat("[", keras3_call("in", 0), ", ", keras3_call("a", 0), "]"), R"(["a", 1, 0])");
  for (const std::string& json : {keras2, keras3}) {
    const auto net = parse("Functional", json);
    const Graph& graph = dynamic_cast<const Graph&>(*net);
    std::vector<std::string> calls;
    for (std::size_t i = 1; i < graph.nodes().size(); ++i) {
      EXPECT_EQ(graph.nodes()[i].inputs, (std::vector<int>{static_cast<int>(i) - 1}));
      calls.push_back(graph.nodes()[i].layer->name());
    }
    EXPECT_EQ(calls, (Names{"b", "a", "b", "a"}));
  }
  EXPECT_EQ(parse("Model", keras2)->class_name(), "Functional");
}

// keras.Input((1,)), then operators of Python in place of layers.
// As Keras 3 writes Model(x, {"out": y}).
TEST(GraphConfig, ReadsAnOutputWithAName) {
  const std::string in = R"([[["in", 0, 0, {}]]])", a = R"([[["a", 0, 0, {}]]])";
  const auto plain = parse("Functional", two_layers(in, a));
  const auto named = parse("Functional", two_layers(in, a, R"({"out": ["b", 0, 0]})"));
  ordered_json expected = to_json(plain->config());
  expected["output_layers"] = {{"out", {"b", 0, 0}}};
  EXPECT_EQ(to_json(named->config()), expected);
}

TEST(GraphConfig, ReadsOperationsWithANumber) {
  const auto computes = [](const std::string& operation, const std::string& arguments) {
    const std::string x = R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["in", 0, 0]}})";
    std::string call = arguments;
    for (auto at = call.find('x'); at != std::string::npos; at = call.find('x', at + x.size()))
      call.replace(at, 1, x);
    const auto net = parse("Functional", cat(R"({"name": "net", "layers": [
      {"class_name": "InputLayer", "config": {"name": "in"}, "name": "in", "inbound_nodes": []},
      {"module": "keras.src.ops.numpy", "class_name": ")",
                                             operation, R"(", "config": {"name": "op"},
       "registered_name": ")",
                                             operation, R"(", "name": "op",
       "inbound_nodes": [{"args": )",
                                             call, R"(, "kwargs": {}}]}],
      "input_layers": [["in", 0, 0]], "output_layers": [["op", 0, 0]]})"));
    EXPECT_EQ(net->children().at(0)->name(), "op");
    return (*net)(f64_tensor({1, 1}, {5})).item();
  };
  EXPECT_EQ(computes("Add", "[x, 3.0]"), 8.0);
  EXPECT_EQ(computes("Add", "[3, x]"), 8.0);
  EXPECT_EQ(computes("Multiply", "[x, 0.5]"), 2.5);
  EXPECT_EQ(computes("Multiply", "[0.5, x]"), 2.5);
  EXPECT_EQ(computes("Subtract", "[x, 3.0]"), 2.0);
  EXPECT_EQ(computes("Subtract", "[3.0, x]"), -2.0);
  EXPECT_EQ(computes("TrueDivide", "[x, 2.0]"), 2.5);
  EXPECT_EQ(computes("Divide", "[x, 2]"), 2.5);
  EXPECT_EQ(computes("Negative", "[x]"), -5.0);
  EXPECT_THROW(computes("Negative", "[[x], 1.0]"), InputError);
  EXPECT_THROW(computes("Maximum", "[x, 3.0]"), InputError);
  for (const char* arguments : {"[2.0, x]", "[x, x]"})
    EXPECT_EQ(message_of<InputError>([&] { computes("TrueDivide", arguments); }),
              "[Functional \"net\"] inbound_nodes: \"op\" is a TrueDivide, which is supported only of one "
              "layer's result, and by a number");
  EXPECT_EQ(
      message_of<InputError>([&] { computes("Add", "[x, 3.0, 4.0]"); }),
      "[Functional \"net\"] inbound_nodes: a call of the Add \"op\" takes something that is not a layer's "
      "result");
  EXPECT_THROW(computes("Add", "[3.0, [x, 4.0]]"), InputError);
}

// Keras 3 notes "training": true, the default, of each call of a RandomFlip, and passes its own instead.
TEST(GraphConfig, ReadsCallsOfAugmentations) {
  const auto net_with = [](const std::string& layer) {
    return cat(R"({"name": "net", "layers": [
      {"class_name": "InputLayer", "config": {"name": "in"}, "name": "in", "inbound_nodes": []},
      {"class_name": )",
               layer, R"(, "name": "a", "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__",
       "config": {"keras_history": ["in", 0, 0]}}], "kwargs": {"training": true}}]}],
      "input_layers": [["in", 0, 0]], "output_layers": [["a", 0, 0]]})");
  };
  const auto net =
      parse("Functional", net_with(R"("RandomFlip", "config": {"name": "a", "mode": "horizontal"})"));
  const Tensor x = random_tensor({2, 4, 4, 3});
  EXPECT_EQ((*net)(x).value().to_vector<double>(), x.to_vector<double>());
  // A Dropout that was told to drop in `model(x)`, too, is another net.
  const std::string dropout = net_with(R"("Dropout", "config": {"name": "a", "rate": 0.5})");
  EXPECT_THROW(parse("Functional", dropout), InputError);
}

TEST(GraphConfig, RefusesWhatItCannotDo) {
  const auto message = [](const std::string& json) {
    EXPECT_THROW(parse("Functional", json), InputError) << json;
    return message_of([&] { parse("Functional", json); });
  };
  const std::string in = R"([[["in", 0, 0, {}]]])";
  EXPECT_EQ(message(two_layers(R"([[["b", 0, 0]]])", R"([[["a", 0, 0]]])")),
            "[Functional \"net\"] inbound_nodes: layers wait for each other's results");
  EXPECT_EQ(message(two_layers(in, R"([[["c", 0, 0]]])")),
            "[Functional \"net\"] inbound_nodes: there is no layer \"c\"");
  EXPECT_EQ(message(two_layers(in, R"([[["a", 1, 0]]])")),
            "[Functional \"net\"] inbound_nodes: \"a\" has no call 1");
  EXPECT_EQ(message(two_layers(in, R"([[["a", 0]]])")),
            "[Functional \"net\"] inbound_nodes: expected [layer, call, result], found 2 entries");
  EXPECT_EQ(
      message(two_layers(in, R"([[["a", 0, 0, {}, 1]]])")),
      "[Functional \"net\"] inbound_nodes: a call of the Dense \"b\" has an input of 5 entries, expected "
      "[layer, call, result, arguments]");
  EXPECT_EQ(message(two_layers(in, R"([[["a", 0, 1]]])")),
            "[Functional \"net\"] inbound_nodes: \"a\" has one result, not 2");
  EXPECT_EQ(message(two_layers(in, R"([[["a", 0, 0, {"training": false}]]])")),
            "[Functional \"net\"] inbound_nodes: a call of the Dense \"b\" has the argument \"training\", "
            "which is not "
            "supported");
  EXPECT_EQ(message(two_layers(in, R"([{"args": [2.0], "kwargs": {}}])")),
            "[Functional \"net\"] inbound_nodes: a call of the Dense \"b\" takes something that is not a "
            "layer's result");
  EXPECT_EQ(message(two_layers(in, "[[]]")),
            "[Functional \"net\"] inbound_nodes: a call of the Dense \"b\" has no inputs");
  EXPECT_EQ(message(two_layers(in, in, "[]")), "[Functional \"net\"] output_layers: is empty");
  const std::string twice =
      R"([]}, {"class_name": "InputLayer", "config": {"name": "a"}, "inbound_nodes": [])";
  EXPECT_EQ(message(two_layers(in, twice)), "[Functional \"net\"] layers: two are called \"a\"");
  EXPECT_EQ(message(two_layers(in, in, R"([["in", 0, 0]])")),
            "[functional] cannot give out its input: add a layer");
  EXPECT_EQ(message(two_layers(in, in, R"([["a", 0, 0], ["a", 0, 0]])")),
            "[functional] cannot give out the result of a twice");
  for (const char* json :
       {"{}", R"({"layers": 3})", R"({"layers": [3], "input_layers": [], "output_layers": []})",
        R"({"layers": [], "input_layers": [], "output_layers": []})"})
    message(json);
}

}  // namespace
}  // namespace ronde::test
