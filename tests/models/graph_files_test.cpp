// Graphs in files: what is saved loads again, in the order that Keras expects.
#include <filesystem>

#include <ronde/models/saved_model.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/merge.h>

#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

/// A residual block with normalisation.
std::unique_ptr<Graph> block() {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input();
  const Symbol side = net->add(Conv2D({.filters = 1, .kernel = {1, 1}, .name = "side"}), x);
  Symbol y = net->add(Conv2D({.filters = 1, .padding = Padding::same, .name = "deep"}), x);
  y = net->add(BatchNormalization(), y);
  net->output(net->add(Add(), {side, y}));
  return net;
}

/// With a shared nested net and a frozen layer.
std::unique_ptr<Graph> net_with_everything(bool frozen = true) {
  auto net = std::make_unique<Graph>();
  const Symbol once = net->add(block(), net->input());
  const Symbol twice = net->add(once.layer(), once);
  const Symbol images = net->add(Concatenate(), {once, twice});
  const Symbol a = net->add(GlobalAveragePooling2D(), images);
  auto dense = std::make_unique<Dense>(DenseOptions{.units = 4, .name = "frozen"});
  if (frozen) dense->set_trainable(false);
  const Symbol b = net->add(std::move(dense), net->add(Flatten(), images));
  const Symbol c = net->add(Sequential(Dense({.units = 4}), Dropout(0.25)), a);
  const Symbol y = net->add(Multiply(), {b, c});
  net->output(net->add(Dense({.units = 3, .activation = Activation::softmax}), y));
  return net;
}

TEST(GraphFiles, LoadedGraphIsTheSavedOne) {
  const TempDir dir;
  const InMemoryDataset data = small_images(20);
  const ModelOptions options{.seed = 3, .backend = &backend("cpu")};
  Model saved(net_with_everything(), {6, 6, 1}, options);
  saved.compile(small_compile());
  const FitOptions one{.batch_size = 8, .epochs = 1, .verbose = 0};
  saved.fit(data, one);
  saved.save(dir / "graph.h5");
  Model loaded = Model::load(dir / "graph.h5", options);
  EXPECT_EQ(loaded.weights_sha256(), saved.weights_sha256());
  EXPECT_EQ(loaded.module().class_name(), "Functional");
  EXPECT_EQ(loaded.module().parameter_count(true), saved.module().parameter_count(true));
  // The same steps from here on: same optimizer state, order of execution and frozen layers.
  const FitOptions more{.batch_size = 8, .epochs = 2, .initial_epoch = 1, .verbose = 0};
  saved.fit(data, more);
  loaded.fit(data, more);
  EXPECT_EQ(loaded.weights_sha256(), saved.weights_sha256());
}

/// Nets within nets.
std::unique_ptr<Module> nested(int levels, bool in_graphs) {
  auto net = std::make_unique<Sequential>();
  net->add(Dense({.units = 2}));
  std::unique_ptr<Module> inner = std::move(net);
  for (int level = 1; level < levels; ++level) {
    if (in_graphs) {
      auto outer = std::make_unique<Graph>();
      outer->output(outer->add(std::move(inner), outer->input()));
      inner = std::move(outer);
    } else {
      auto outer = std::make_unique<Sequential>();
      outer->add(std::move(inner));
      inner = std::move(outer);
    }
  }
  return inner;
}

TEST(GraphFiles, WhatIsSavedIsNotNestedTooDeepToBeRead) {
  const TempDir dir(memory_directory());
  const ModelOptions options{.backend = &backend("cpu")};
  for (const bool in_graphs : {false, true}) {
    Model deep(nested(100, in_graphs), {2}, options), deeper(nested(110, in_graphs), {2}, options);
    for (const std::string name : {"net.h5", "net.keras", "net.weights.h5"}) {
      SCOPED_TRACE(name);
      Model other(nested(100, in_graphs), {2}, {.seed = 7, .backend = &backend("cpu")});
      deep.save(dir / name);
      EXPECT_EQ(Model::load(dir / name, options).weights_sha256(), deep.weights_sha256());
      other.load_weights(dir / name);
      EXPECT_EQ(other.weights_sha256(), deep.weights_sha256());
      std::filesystem::remove(dir / name);
      const std::string refusal = message_of<CollectiveError>([&] { deeper.save(dir / name); });
      EXPECT_NE(refusal.find("100 levels of nets within nets"), std::string::npos) << refusal;
      EXPECT_FALSE(std::filesystem::exists(dir / name));
    }
  }
}

TEST(GraphFiles, LayersAndWeightsAreInTheOrderOfKeras) {
  const TempDir dir;
  Model model(net_with_everything(), {6, 6, 1});
  model.save_weights(dir / "graph.h5");
  std::vector<std::string> layers, weights;
  for (const SavedLayer& layer : read_saved_model(dir / "graph.h5").layers) {
    if (!layer.weights.empty()) layers.push_back(layer.name);
    if (layer.name == "functional")
      for (const SavedWeight& weight : layer.weights) weights.push_back(weight.name);
  }
  // By the longest way to the output, which for "functional" is that of its first call.
  EXPECT_EQ(layers, (std::vector<std::string>{"functional", "frozen", "sequential", "dense_1"}));
  const std::string in = "functional/";
  // In the nested net too: "deep" is further from its output than "side", which was called first. What is
  // trained comes before what is not.
  EXPECT_EQ(weights,
            (std::vector<std::string>{
                in + "deep/kernel:0", in + "deep/bias:0", in + "side/kernel:0", in + "side/bias:0",
                in + "batch_normalization/gamma:0", in + "batch_normalization/beta:0",
                in + "batch_normalization/moving_mean:0", in + "batch_normalization/moving_variance:0"}));
}

TEST(GraphFiles, FrozenWeightsComeBehindInANestedNet) {
  const TempDir dir;
  auto inner = std::make_unique<Sequential>(Dense({.units = 2, .name = "first"}), BatchNormalization(),
                                            Dense({.units = 2, .name = "last"}));
  inner->layers()[0]->set_trainable(false);
  Model model(std::make_unique<Sequential>(std::move(*inner), Dense({.units = 3})), {4});
  model.save_weights(dir / "nested.h5");
  const SavedModel file = read_saved_model(dir / "nested.h5");
  std::vector<std::string> weights;
  for (const SavedWeight& weight : file.layers.at(0).weights)
    weights.push_back(weight.name.substr(weight.name.find('/') + 1));
  EXPECT_EQ(weights, (std::vector<std::string>{"batch_normalization/gamma:0", "batch_normalization/beta:0",
                                               "last/kernel:0", "last/bias:0", "first/kernel:0",
                                               "first/bias:0", "batch_normalization/moving_mean:0",
                                               "batch_normalization/moving_variance:0"}));
}

TEST(GraphFiles, AGraphWithALayerUnknownToKerasSavesItsWeightsOnly) {
  struct Own : Module {
    Variable forward(const Variable& x, const Context&) override { return x * 2.0; }
  };
  const TempDir dir;
  auto net = std::make_unique<Graph>();
  net->output(net->add(Dense({.units = 3}), net->add(std::make_unique<Own>(), net->input())));
  Model model(std::move(net), {4});
  model.save(dir / "own.h5");
  const SavedModel file = read_saved_model(dir / "own.h5");
  EXPECT_TRUE(file.model_config.is_null());
  EXPECT_EQ(file.layers.size(), 2u);
  model.load_weights(dir / "own.h5");
}

TEST(GraphFiles, AnUnknownLayerIsNamedWithTheKnownOnes) {
  const TempDir dir;
  Model model(net_with_everything(), {6, 6, 1});
  model.save(dir / "graph.h5");
  SavedModel file = read_saved_model(dir / "graph.h5");
  ConfigDict config = file.model_config.at("config").as_dict();
  for (auto& [key, value] : config) {
    if (key != "layers") continue;
    ConfigList layers = value.as_list();
    layers.back() = ConfigDict{{"class_name", "Lambda"},
                               {"config", ConfigDict{{"name", "lstm"}}},
                               {"name", "lstm"},
                               {"inbound_nodes", ConfigList{}}};
    value = layers;
  }
  file.model_config = ConfigDict{{"class_name", "Functional"}, {"config", config}};
  write_saved_model(dir / "lstm.h5", file);
  const std::string message = message_of<Error>([&] { Model::load(dir / "lstm.h5"); });
  EXPECT_TRUE(message.starts_with(dir / "lstm.h5" +
                                  ": layer \"lstm\": class \"Lambda\" is not supported; known are "))
      << message;
  EXPECT_NE(message.find("Conv2D"), std::string::npos);
}

// Keras has no layer that takes and gives rows.
TEST(GraphFiles, ANetOfSeveralPartsWithinAnotherOneIsSavedAsWeights) {
  const TempDir dir;
  Graph inner;
  const Symbol a = inner.input("a", {2}), b = inner.input("b", {1});
  inner.output(inner.add(Concatenate(), {a, b}));
  auto net = std::make_unique<Sequential>();
  net->add(std::make_unique<Graph>(std::move(inner)));
  net->add(Dense({.units = 1}));
  Model model(std::move(net), {3});
  model.save(dir / "net.h5");
  EXPECT_TRUE(read_saved_model(dir / "net.h5").model_config.is_null());
}

}  // namespace
}  // namespace ronde::test
