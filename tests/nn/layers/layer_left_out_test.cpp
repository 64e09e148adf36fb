// What a file says of layers that this library does not know or have: named, and kept in what is saved.
#include <ronde/nn/sequential.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(LayerLeftOut, OptionsThatAreNotKnownAreNamed) {
  const auto unknown = [](const char* class_name, const char* json) {
    return unknown_options(class_name, from_json(ordered_json::parse(json)));
  };
  using Options = std::vector<std::string>;
  EXPECT_EQ(unknown("Dense", R"({"name": "d", "units": 2, "new": 3, "newer": null, "bias_regularizer": "l2",
                                 "dtype": "float32", "batch_input_shape": [null, 3], "last": {"a": 1}})"),
            (Options{"new", "last"}));
  EXPECT_EQ(
      unknown("Sequential", R"({"layers": [{"class_name": "Flatten", "config": {"own": 1}}], "mode": 1})"),
      Options{"mode"});
  for (const std::string& class_name : layer_class_names()) {
    if (class_name == "Functional" || class_name == "Sequential") continue;
    const bool scales = class_name == "Rescaling" || class_name == "CustomScaleLayer";
    const auto layer = parse(class_name, scales ? R"({"scale": 0.5})" : R"({
      "units": 2, "filters": 2, "rate": 0.5, "input_dim": 2, "output_dim": 2, "target_shape": [-1],
      "init_values": 0.5, "projection_dim": 3, "n": 2, "dims": [1], "axes": 1, "drop_path_rate": 0.5, "num_heads": 2, "key_dim": 3,
      "layer": {"class_name": "GRU", "config": {"units": 2}}})");
    layer->set_left_out({});  // options of other layers
    EXPECT_EQ(unknown_options(layer->class_name(), layer->config()), Options()) << class_name;
  }
}

// To the Keras that knows them they are a part of the net.
TEST(LayerLeftOut, OptionsThatAreNotKnownAreKept) {
  const auto dense =
      parse("Dense", R"({"name": "d", "units": 2, "new": 3, "newer": null, "last": {"a": [1]}})");
  const ordered_json config = to_json(dense->config());
  EXPECT_EQ(config["new"], 3);
  EXPECT_EQ(config["last"], ordered_json::parse(R"({"a": [1]})"));
  EXPECT_FALSE(config.contains("newer"));
  EXPECT_EQ(left_out_of_training(*dense), std::vector<std::string>()) << "nobody would train on";
  EXPECT_EQ(text(*layer_from_config("Dense", dense->config())), text(*dense));
}

TEST(LayerLeftOut, WhatIsLeftOutOfANetWithinANetIsKept) {
  const std::string own = R"("name": "inner", "mode": "own", "activity_regularizer": "l2")";
  const std::string sequential =
      cat("{", own, R"(, "layers": [{"class_name": "Dense", "config": {"name": "d", "units": 2}}]})");
  const std::string functional = cat("{", own, R"(, "layers": [
      {"class_name": "InputLayer", "config": {"name": "in"}, "name": "in", "inbound_nodes": []},
      {"class_name": "Dense", "config": {"name": "d", "units": 2}, "name": "d",
       "inbound_nodes": [[["in", 0, 0, {}]]]}],
      "input_layers": [["in", 0, 0]], "output_layers": [["d", 0, 0]]})");
  for (const auto& [class_name, inner] : {std::pair{"Sequential", sequential}, {"Functional", functional}}) {
    const auto net = parse("Sequential", cat(R"({"name": "net", "layers": [{"class_name": ")", class_name,
                                             R"(", "config": )", inner, "}]}"));
    EXPECT_EQ(left_out_of_training(*net), std::vector<std::string>{"activity_regularizer of inner"});
    const auto again = layer_from_config("Sequential", net->config());
    const ordered_json kept = to_json(again->children().front()->config());
    EXPECT_EQ(kept["mode"], "own") << class_name;
    EXPECT_EQ(kept["activity_regularizer"], "l2") << class_name;
    EXPECT_EQ(left_out_of_training(*again), std::vector<std::string>{"activity_regularizer of inner"});
  }
}

// The options as they are, but those of every layer.
TEST(LayerLeftOut, WhatOnlyTrainingDoesKeepsItsOptions) {
  const auto layer = parse("RandomRotation", R"({"name": "turn", "trainable": true,
      "dtype": {"class_name": "DTypePolicy", "config": {"name": "float32"}}, "batch_input_shape": [null, 4, 4, 3],
      "factor": [-0.1, 0.1], "fill_mode": "reflect", "seed": null})");
  expect_config(*layer, R"({"name": "turn", "trainable": true, "dtype": "float32",
                            "factor": [-0.1, 0.1], "fill_mode": "reflect", "seed": null})");
  const Tensor x = random_tensor({2, 4, 4, 3});
  for (const bool training : {false, true})
    EXPECT_EQ((*layer)(x, {.training = training}).value().to_vector<double>(), x.to_vector<double>());
}

// Weights that come from a file do not depend on how they would have begun.
TEST(LayerLeftOut, AnUnknownInitializerIsTheDefault) {
  const auto dense = parse("Dense", R"({"units": 2, "kernel_initializer": {"class_name": "Identity"}})");
  EXPECT_EQ(to_json(dense->config())["kernel_initializer"],
            ordered_json::parse(R"({"class_name": "GlorotUniform", "config": {"seed": null}})"));
}

// Outputs are what they are without them; who trains on is told by name, and a file keeps them.
TEST(LayerLeftOut, WhatOnlyTrainingSeesIsLeftOutNamedAndKept) {
  const char* object = R"({"class_name": "L2", "config": {"l2": 0.01}})";
  const char* other =
      R"({"class_name": "OrthogonalRegularizer", "config": {"factor": 0.01, "mode": "rows"}})";
  const char* own =
      R"({"module": "my", "class_name": "L2", "config": {"l2": 0.01}, "registered_name": "my>L2"})";
  for (const auto& [class_name, key, value] :
       {std::tuple{"Dense", "kernel_regularizer", other},
        {"Dense", "bias_regularizer", own},
        {"Dense", "kernel_regularizer", R"({"class_name": "L2", "config": {"l2": -1.0}})"},
        {"Dense", "kernel_regularizer", R"("orthogonal")"},
        {"Conv2D", "activity_regularizer", object},
        {"DepthwiseConv2D", "depthwise_constraint", R"({"class_name": "NonNeg", "config": {}})"},
        {"BatchNormalization", "gamma_regularizer", other},
        {"Embedding", "embeddings_constraint", object},
        {"LayerScale", "gamma_regularizer", object},
        {"Flatten", "activity_regularizer", object}}) {
    const std::string config = cat(R"({"name": "x", "units": 2, "filters": 2, "input_dim": 2, "output_dim": 2,
                                       "init_values": 0.5, "projection_dim": 3, ")",
                                   key, "\": ", value, "}");
    const auto built = parse(class_name, config);
    EXPECT_EQ(left_out_of_training(*built), std::vector{cat(key, " of x")}) << value;
    EXPECT_EQ(to_json(built->config())[key], ordered_json::parse(value));
    const auto again = layer_from_config(class_name, built->config());
    EXPECT_EQ(to_json(again->config()), to_json(built->config()));
    Sequential net;
    net.add(parse(class_name, config));
    EXPECT_EQ(left_out_of_training(net), std::vector{cat(key, " of x")}) << "moved";
  }
  const auto net = parse("Sequential", R"({"name": "net", "layers": [
      {"class_name": "Dense", "config": {"name": "a", "units": 2, "kernel_regularizer": null}},
      {"class_name": "Sequential", "config": {"name": "inner", "layers": [
        {"class_name": "Dense", "config": {"name": "b", "units": 2, "bias_constraint": {}}}]}},
      {"class_name": "Dense", "config": {"name": "c", "units": 2, "kernel_regularizer": "l2",
                                         "activity_regularizer": "l1"}}]})");
  EXPECT_EQ(left_out_of_training(*net),
            (std::vector<std::string>{"bias_constraint of inner/b", "activity_regularizer of c"}));
}

}  // namespace
}  // namespace ronde::test
