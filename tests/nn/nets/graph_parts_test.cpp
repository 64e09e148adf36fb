// Graphs with several inputs and outputs.
#include <ronde/core/ops.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/sequential.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

/// Two inputs; the second output is in the way to the first.
std::unique_ptr<Graph> two_and_two() {
  auto net = std::make_unique<Graph>();
  const Symbol board = net->input("board", {2, 2, 1}), clock = net->input("clock", {2});
  const Symbol flat = net->add(Flatten(), board);
  const Symbol body = net->add(Dense({.units = 3, .name = "body"}), flat);
  const Symbol norm = net->add(BatchNormalization({.name = "norm"}), body);
  const Symbol late = net->add(ReLU(), norm);
  const Symbol both = net->add(Concatenate(), {late, clock});
  net->output(
      {net->add(Dense({.units = 2, .activation = Activation::softmax, .name = "policy"}), both), norm});
  return net;
}

std::vector<Shape> shapes(const std::vector<NetPart>& parts) {
  return shapes_of(parts);
}

TEST(GraphParts, TakesAndGivesRows) {
  const auto net = two_and_two();
  net->build(joined_shape(net->input_parts()), in_f64());
  randomize(*net);
  EXPECT_EQ(net->input_shape(), Shape{6});
  EXPECT_EQ(net->output_shape(), (Shape{1, 5}));
  EXPECT_EQ(shapes(net->input_parts()), (std::vector<Shape>{{2, 2, 1}, {2}}));
  EXPECT_EQ(shapes(net->output_parts()), (std::vector<Shape>{{2}, {3}}));
  EXPECT_EQ(net->output_parts()[0].name, "policy");
  EXPECT_EQ(net->output_parts()[1].name, "norm");
  EXPECT_TRUE(net->has_several_parts());

  const Tensor board = random_tensor({4, 2, 2, 1}), clock = random_tensor({4, 2});
  const std::vector<Module*> layers = net->children();
  Module &flatten = *layers[0], &body = *layers[1], &norm = *layers[2], &relu = *layers[3],
         &concatenate = *layers[4], &policy = *layers[5];
  for (const bool training : {false, true}) {
    const Context context{.training = training};
    const Variable middle = norm(body(flatten(board, context), context), context);
    const Variable expected = policy(concatenate({relu(middle, context), clock}, context), context);
    const std::vector<Variable> parts =
        split_rows((*net)(join_rows({board, clock}), context), net->output_parts());
    EXPECT_EQ(parts[0].value().to_vector<double>(), expected.value().to_vector<double>());
    EXPECT_EQ(parts[1].value().to_vector<double>(), middle.value().to_vector<double>());
    EXPECT_TRUE(softmax_input(parts[0]).defined());
  }
}

TEST(GraphParts, HasRightGradients) {
  const auto net = two_and_two();
  net->build({6}, in_f64());
  randomize(*net);
  expect_module_gradients(*net, random_tensor({3, 6}));
}

TEST(GraphParts, AnOutputThatALayerUsesOnIsNeitherFreedNorPassedOver) {
  Graph net;
  const Symbol x = net.input();
  const Symbol a = net.add(Dense({.units = 2, .name = "a"}), x);
  const Symbol b = net.add(BatchNormalization({.name = "b"}), a);
  const Symbol c = net.add(ReLU(), b);
  net.output({c, a, b});
  net.build({2}, in_f64());
  randomize(net);
  const auto parts = split_rows(net(random_tensor({3, 2})), net.output_parts());
  EXPECT_EQ(relu(parts[2]).value().to_vector<double>(), parts[0].value().to_vector<double>());
  EXPECT_NE(parts[1].value().to_vector<double>(), parts[2].value().to_vector<double>());
}

TEST(GraphParts, OfTwoCallsOfALayerHaveTwoNames) {
  Graph net;
  const Symbol a = net.input("a", {2}), b = net.input("b", {2});
  const Symbol y = net.add(Dense({.units = 1, .name = "twin"}), a);
  net.output({y, net.add(y.layer(), b)});
  EXPECT_EQ(net.output_parts()[0].name, "twin");
  EXPECT_EQ(net.output_parts()[1].name, "twin_1");
}

TEST(GraphParts, ConfigIsReadBack) {
  const auto net = two_and_two();
  net->build({6}, in_f64());
  randomize(*net);
  const ordered_json config = to_json(net->config());
  EXPECT_EQ(config.at("input_layers"), ordered_json::parse(R"([["board", 0, 0], ["clock", 0, 0]])"));
  EXPECT_EQ(config.at("output_layers"), ordered_json::parse(R"([["policy", 0, 0], ["norm", 0, 0]])"));
  const auto read = layer_from_config("Functional", net->config());
  auto& copy = dynamic_cast<Graph&>(*read);
  copy.build(joined_shape(copy.input_parts()), in_f64());
  EXPECT_EQ(to_json(copy.config()), config);
  EXPECT_EQ(shapes(copy.input_parts()), shapes(net->input_parts()));
}

TEST(GraphParts, NamesOfOutputsAreKeptAsADict) {
  Graph net;
  const Symbol a = net.add(Dense({.units = 2, .name = "first"}), net.input("x"));
  const Symbol b = net.add(Dense({.units = 1, .name = "second"}), a);
  net.output({{"value", b}, {"policy", a}});
  net.build({3}, in_f64());
  EXPECT_EQ(net.output_parts()[0].name, "value");
  EXPECT_EQ(net.output_parts()[1].name, "policy");
  EXPECT_EQ(shapes(net.output_parts()), (std::vector<Shape>{{1}, {2}}));
  const ordered_json config = to_json(net.config());
  EXPECT_EQ(config.at("output_layers"),
            ordered_json::parse(R"({"value": ["second", 0, 0], "policy": ["first", 0, 0]})"));
  const auto copy = layer_from_config("Functional", net.config());
  copy->build({3}, in_f64());
  EXPECT_EQ(to_json(copy->config()), config);
  Graph other;
  const Symbol y = other.add(Dense({.units = 2}), other.input());
  EXPECT_EQ(message_of([&] {
              other.output({{"", y}});
            }),
            "[functional] cannot name an output \"\": a name is not empty, and no other's");
  const Symbol z = other.add(Dense({.units = 2}), y);
  EXPECT_EQ(message_of([&] {
              other.output({{"a", y}, {"a", z}});
            }),
            "[functional] cannot name an output \"a\": a name is not empty, and no other's");
}

TEST(GraphParts, AnInputOfSeveralWithoutAShapeIsRefused) {
  const auto net = two_and_two();
  net->build({6}, in_f64());
  ordered_json config = to_json(net->config());
  auto& extents = config["layers"][1]["config"]["batch_input_shape"];
  const auto message = [&] {
    return message_of([&] { layer_from_config("Functional", from_json(config)); });
  };
  extents = {nullptr, nullptr};
  EXPECT_EQ(message(),
            "[Functional \"functional\"] input_layers: the shape of \"clock\" leaves axis 1 open, which only "
            "that of a net with one input may");
  extents = nullptr;
  EXPECT_EQ(message(), "[Functional \"functional\"] input_layers: the shape of \"clock\" is missing");
}

TEST(GraphParts, RefusesWhatDoesNotFit) {
  Graph net;
  const Symbol a = net.input("a", {2});
  EXPECT_EQ(message_of([&] { net.input("a", {3}); }), "[functional] has two inputs called \"a\"");
  EXPECT_EQ(message_of([&] { net.input(); }), "[functional] has an input already; several have shapes");
  const Symbol b = net.input("b", {3});
  const Symbol y = net.add(Concatenate(), {a, b});
  EXPECT_EQ(message_of([&] { net.input("c", {3}); }), "[functional] its inputs come before its layers");
  EXPECT_EQ(message_of([&] { net.output(std::vector<Symbol>{}); }), "[functional] needs an output");
  EXPECT_EQ(message_of([&] { net.output({y, a}); }), "[functional] cannot give out its input: add a layer");
  EXPECT_EQ(message_of([&] {
              net.output({y, y});
            }),
            "[functional] cannot give out the result of concatenate twice");
  net.output(y);
  EXPECT_EQ(message_of([&] { net.build({6}); }), "[functional] takes (5,) of its 2 inputs, got (6,)");
  Graph open;
  open.input();
  EXPECT_EQ(message_of([&] { open.input("b", {3}); }),
            "[functional] has an input without a shape; several have shapes");
  Graph one;
  one.output(one.add(Dense({.units = 1}), one.input("a", {4})));
  EXPECT_EQ(joined_shape(one.input_parts()), Shape{4});
  EXPECT_EQ(message_of([&] { one.build({3}); }), "[functional] takes (4,) of its 1 input, got (3,)");
  Graph outer;
  const Symbol x = outer.input();
  EXPECT_EQ(message_of([&] { outer.add(net, x); }),
            "[functional] cannot call functional, which has several inputs or outputs");
}

}  // namespace
}  // namespace ronde::test
