// Optimizers and losses in model files: the names and the state that Keras has, and what it has no place for.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <ronde/models/saved_model.h>
#include <ronde/nn/adamax.h>
#include <ronde/nn/attention.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/nadam.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/rmsprop.h>

#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

TEST(OptimizerFiles, AdamWHasTheNameThatKeras2Finds) {
  const TempDir dir;
  Model model(small_net(), {6, 6, 1});
  model.compile({.optimizer = std::make_unique<AdamW>(AdamWOptions{.weight_decay = 0.25}),
                 .loss = std::make_unique<CategoricalCrossentropy>()});
  model.save(dir / "model.h5");
  const ConfigValue optimizer = read_saved_model(dir / "model.h5").training_config.at("optimizer_config");
  EXPECT_EQ(optimizer.at("class_name").as_string(), "Custom>AdamW");
  EXPECT_EQ(optimizer.at("config").at("weight_decay").as_double(), 0.25);
  EXPECT_EQ(Model::load(dir / "model.h5").optimizer().name(), "AdamW");
}

/// Of images, after one more step than `model` has taken.
std::string hash_after_a_step(Model& model) {
  const InMemoryDataset data = small_images(8);
  const Tensor keys =
      Tensor::full({8, 2}, static_cast<double>(model.optimizer().iterations()), {.dtype = DType::i64});
  model.train_on_batch(data.inputs().to(DType::f32), data.targets(),
                       {.sample_keys = keys});  // of the dropout
  return model.weights_sha256();
}

// From Keras' own copy of the optimizer's state, without Ronde's.
TEST(OptimizerFiles, AdamaxAndNadamGoOnFromKerasState) {
  const TempDir dir;
  const std::vector<std::function<std::unique_ptr<Optimizer>()>> makers{
      [] { return std::make_unique<Adamax>(AdamaxOptions{.learning_rate = 0.05}); },
      [] { return std::make_unique<Nadam>(NadamOptions{.learning_rate = 0.05}); }};
  for (const auto& make : makers) {
    Model model(small_net(), {6, 6, 1});
    model.compile({.optimizer = make(), .loss = std::make_unique<SparseCategoricalCrossentropy>()});
    for (int i = 0; i < 3; ++i) hash_after_a_step(model);
    model.save(dir / "model.keras", {.keras_optimizer_state = KerasOptimizerState::keras3});
    SavedModel file = read_saved_model(dir / "model.keras");
    // Behind count and rate weight by weight, as Keras 3 has it.
    const bool is_nadam = model.optimizer().name() == "Nadam";
    ASSERT_EQ(file.optimizer_weights.size(), is_nadam ? 11u : 10u);
    for (std::size_t i = 2; i < 10; i += 2)
      EXPECT_EQ(file.optimizer_weights[i].values.shape(), file.optimizer_weights[i + 1].values.shape());
    if (is_nadam) {  // mu_1 * mu_2 * mu_3
      const double product =
          std::pow(0.9, 3) * (1 - 0.96 / 2) * (1 - 0.96 * 0.96 / 2) * (1 - std::pow(0.96, 3) / 2);
      EXPECT_NEAR(file.optimizer_weights[10].values.item(), product, 1e-7);
    }
    file.state.reset();
    write_saved_model(dir / "plain.keras", file);
    Model loaded = Model::load(dir / "plain.keras");
    EXPECT_EQ(loaded.optimizer().name(), model.optimizer().name());
    EXPECT_EQ(loaded.optimizer().iterations(), 3);
    EXPECT_EQ(hash_after_a_step(loaded), hash_after_a_step(model)) << model.optimizer().name();
  }
}

// Keras' Adam with a weight decay keeps what AdamW keeps.
TEST(OptimizerFiles, AdamWithWeightDecayGoesOnFromKerasState) {
  const TempDir dir;
  Model model(small_net(), {6, 6, 1});
  model.compile(
      {.optimizer = std::make_unique<AdamW>(AdamWOptions{.learning_rate = 0.05, .weight_decay = 0.25}),
       .loss = std::make_unique<SparseCategoricalCrossentropy>()});
  for (int i = 0; i < 3; ++i) hash_after_a_step(model);
  model.save(dir / "model.keras", {.keras_optimizer_state = KerasOptimizerState::keras3});
  SavedModel file = read_saved_model(dir / "model.keras");
  file.state.reset();
  ConfigDict training = file.training_config.as_dict();
  for (auto& [key, value] : training)
    if (key == "optimizer_config")
      value = ConfigDict{{"class_name", "Adam"}, {"config", ConfigValue(value.at("config"))}};
  file.training_config = training;
  write_saved_model(dir / "keras.keras", file);
  Model loaded = Model::load(dir / "keras.keras");
  EXPECT_EQ(loaded.optimizer().iterations(), 3);
  EXPECT_EQ(hash_after_a_step(loaded), hash_after_a_step(model));
}

TEST(OptimizerFiles, TheOlderNadamOfTensorFlowIsAnotherOptimizer) {
  const TempDir dir;
  Model model(small_net(), {6, 6, 1});
  model.compile(
      {.optimizer = std::make_unique<Nadam>(), .loss = std::make_unique<CategoricalCrossentropy>()});
  hash_after_a_step(model);
  EXPECT_NE(message_of<UsageError>([&] {
              model.save(dir / "model.h5", {.keras_optimizer_state = KerasOptimizerState::tf2});
            }).find("save a .keras file"),
            std::string::npos);
  model.save(dir / "model.h5");
  SavedModel file = read_saved_model(dir / "model.h5");
  file.state.reset();
  file.optimizer_weights = {{"Nadam/iter:0", Tensor::from<std::int64_t>({}, {1})},
                            {"Nadam/momentum_cache:0", Tensor::full({}, 0.5)}};
  write_saved_model(dir / "older.h5", file);
  std::vector<std::string> warnings;
  Model loaded =
      Model::load(dir / "older.h5", {.warn = [&](const std::string& line) { warnings.push_back(line); }});
  EXPECT_EQ(warnings,
            std::vector{cat(dir / "older.h5", ": left out: the state of its optimizer, which starts anew")});
  EXPECT_EQ(loaded.optimizer().learning_rate(), 0.001) << "the cache is no rate";
  EXPECT_EQ(loaded.optimizer().iterations(), 0);
}

// Keras 3 writes a count and a learning rate of a net that was compiled and not trained.
TEST(OptimizerFiles, AnOptimizerBeforeItsFirstUpdateLeavesNothingOut) {
  const TempDir dir;
  Model model(small_net(), {6, 6, 1});
  model.compile(
      {.optimizer = std::make_unique<Adam>(), .loss = std::make_unique<SparseCategoricalCrossentropy>()});
  model.save(dir / "model.keras");
  SavedModel file = read_saved_model(dir / "model.keras");
  file.state.reset();
  file.optimizer_weights = {{"adam/iteration", Tensor::from<std::int64_t>({}, {0})},
                            {"adam/learning_rate", Tensor::full({}, 0.001)}};
  write_saved_model(dir / "keras.keras", file);
  std::vector<std::string> warnings;
  Model loaded =
      Model::load(dir / "keras.keras", {.warn = [&](const std::string& line) { warnings.push_back(line); }});
  EXPECT_EQ(warnings, std::vector<std::string>{});
  EXPECT_EQ(hash_after_a_step(loaded), hash_after_a_step(model));
}

// Of a net whose one weight is a scalar, as the rate is.
TEST(OptimizerFiles, ARateIsNotTakenForTheSlotOfAScalar) {
  const TempDir dir;
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input();
  net->output(net->add(Attention({.use_scale = true}), {x, x}));
  Model model(std::move(net), {4, 3});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.25}),
                 .loss = std::make_unique<MeanSquaredError>()});
  const auto rate_in = [&](const char* version) {  // a count and 0.125
    model.save(dir / "model.keras", {.keras_optimizer_state = KerasOptimizerState::keras3});
    SavedModel file = read_saved_model(dir / "model.keras");
    file.state.reset();
    file.keras_version = version;
    EXPECT_EQ(file.optimizer_weights.size(), 2u);
    file.optimizer_weights.at(1).values = Tensor::full({}, 0.125);
    write_saved_model(dir / "plain.keras", file);
    return Model::load(dir / "plain.keras").optimizer().learning_rate();
  };
  EXPECT_EQ(rate_in("3.15.1"), 0.125);
  EXPECT_EQ(rate_in("2.15.0"), 0.25) << "Keras 2's SGD keeps its last step also without momentum";
}

TEST(OptimizerFiles, SettingsThatKerasHasNoPlaceForSurvive) {
  const TempDir dir;
  const InMemoryDataset data = small_images(12);
  Model model(small_net(), {6, 6, 1});
  model.compile({.optimizer = std::make_unique<RMSprop>(
                     RMSpropOptions{.learning_rate = 0.02, .epsilon = 0.1, .epsilon_inside_sqrt = false}),
                 .loss = std::make_unique<SparseCategoricalCrossentropy>(
                     CrossentropyOptions{.from_logits = true, .label_smoothing = 0.25})});
  model.fit(data, {.batch_size = 4, .verbose = 0});
  model.save(dir / "model.h5");
  const ConfigValue training = read_saved_model(dir / "model.h5").training_config;
  EXPECT_EQ(training.at("optimizer_config").at("config").find("epsilon_inside_sqrt"), nullptr)
      << "Keras refuses keys that it does not know";
  EXPECT_EQ(training.at("loss").at("class_name").as_string(), "SparseCategoricalCrossentropy");
  Model loaded = Model::load(dir / "model.h5");
  const FitOptions more{.batch_size = 4, .epochs = 2, .resume = true, .verbose = 0};
  EXPECT_EQ(loaded.fit(data, more).values, model.fit(data, more).values);
  EXPECT_EQ(loaded.weights_sha256(), model.weights_sha256());
}

}  // namespace
}  // namespace ronde::test
