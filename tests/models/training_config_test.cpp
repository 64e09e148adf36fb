// Losses and metrics in model files: there, back, and nothing that makes Keras refuse the file.
#include <ronde/models/saved_model.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/loss_metric.h>
#include <ronde/nn/output_losses.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/top_k_accuracy.h>

#include "json/json.h"
#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"
#include "weights/training_config.h"

namespace ronde::test {
namespace {

using Metrics = std::vector<std::shared_ptr<Metric>>;

class OwnLoss : public MeanAbsoluteError {
 public:
  std::string name() const override { return "own_loss"; }
};

class OwnMetric : public Accuracy {
 public:
  OwnMetric() : Accuracy("own_metric") {}
};

Model model_with(std::unique_ptr<Loss> loss, Metrics metrics) {
  Model model(small_net(), {6, 6, 1});
  model.compile(
      {.optimizer = std::make_unique<Adam>(), .loss = std::move(loss), .metrics = std::move(metrics)});
  return model;
}

std::string config_of(Model& model, const std::string& path) {
  model.save(path);
  return to_json(read_saved_model(path).training_config);
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
}

TEST(TrainingConfig, MetricsComeBackFromBothKindsOfFiles) {
  const TempDir dir;
  const InMemoryDataset data = small_images(20);
  for (const char* ending : {".h5", ".keras"}) {
    Model model = model_with(std::make_unique<SparseCategoricalCrossentropy>(),
                             {make_metric("accuracy"), std::make_shared<Accuracy>("top1"),
                              std::make_shared<SparseTopKCategoricalAccuracy>(TopKOptions{.k = 2}),
                              std::make_shared<LossMetric>(std::make_unique<SparseCategoricalCrossentropy>()),
                              std::make_shared<OwnMetric>()});
    const std::string path = dir / cat("model", ending);
    model.save(path);
    const Evaluation before = model.evaluate(data), after = Model::load(path).evaluate(data);
    auto expected = before.logs.entries();
    ASSERT_EQ(expected.back().first, "own_metric");
    expected.pop_back();  // which no file can describe
    EXPECT_EQ(after.logs.entries(), expected) << ending;
    EXPECT_EQ(after.correct, before.correct);
  }
}

// Also where a rank has no sample at all: two samples on three ranks.
TEST(TrainingConfig, MetricsOfEachClassAreTheSameOnAnyNumberOfRanks) {
  std::vector<double> values;
  std::vector<float> pixels;
  for (int i = 0; i < 72; ++i) pixels.push_back(static_cast<float>(i % 7) / 7.0F);
  for (const int ranks : {1, 3})
    test::run_ranks(ranks, [&](Communicator& world) {
      Model model(small_net(), {6, 6, 1}, {.communicator = &world});
      model.compile({.optimizer = std::make_unique<Adam>(),
                     .loss = std::make_unique<CategoricalCrossentropy>(),
                     .metrics = {make_metric("F1Score"), make_metric("TruePositives"),
                                 make_metric("AUC", ConfigDict{{"multi_label", true}})}});
      const InMemoryDataset data(Tensor::from<float>({2, 6, 6, 1}, pixels),
                                 Tensor::from<float>({2, 3}, {1, 0, 0, 0, 1, 0}));
      const Logs logs = model.evaluate(data, 1).logs;
      if (world.rank() != 0) return;
      for (const char* name : {"f1_score", "true_positives", "auc"}) values.push_back(*logs.find(name));
    });
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(std::vector(values.begin(), values.begin() + 3), std::vector(values.begin() + 3, values.end()));
}

TEST(TrainingConfig, IsWhatKerasKnows) {
  const TempDir dir;
  Model numbers = model_with(std::make_unique<Huber>(Huber::Options{.delta = 0.5}),
                             {make_metric("mae"), std::make_shared<RootMeanSquaredError>()});
  const std::string text = config_of(numbers, dir / "numbers.h5");
  expect_contains(text, R"("loss":{"class_name":"Huber","config":{"name":"huber","delta":0.5}})");
  expect_contains(text, R"({"class_name":"MeanAbsoluteError","config":{"name":"mae"}})");
  expect_contains(text,
                  R"({"class_name":"RootMeanSquaredError","config":{"name":"root_mean_squared_error"}})");

  Model classes = model_with(std::make_unique<CategoricalCrossentropy>(), {});
  expect_contains(config_of(classes, dir / "classes.h5"), R"("metrics":["accuracy"])");
  // Keras 2 makes the metric of one-hot targets of "accuracy" in an .h5.
  Model labels = model_with(std::make_unique<SparseCategoricalCrossentropy>(), {});
  expect_contains(config_of(labels, dir / "labels.h5"),
                  R"([{"class_name":"SparseCategoricalAccuracy","config":{"name":"accuracy"}}])");
  Model short_name = model_with(std::make_unique<SparseCategoricalCrossentropy>(), {make_metric("acc")});
  expect_contains(config_of(short_name, dir / "short_name.h5"),
                  R"([{"class_name":"SparseCategoricalAccuracy","config":{"name":"acc"}}])");
}

TEST(TrainingConfig, AnAccuracyWithANameOfItsOwnIsTheOneOfLossAndOutputs) {
  const TempDir dir;
  const auto described = [&](std::unique_ptr<Loss> loss, std::int64_t outputs = 3) {
    Model model(std::make_unique<Sequential>(Dense({.units = outputs})), {4});
    model.compile({.optimizer = std::make_unique<Adam>(),
                   .loss = std::move(loss),
                   .metrics = {std::make_shared<Accuracy>("top1")}});
    return config_of(model, dir / "model.keras");
  };
  const auto expected = [](const char* name) {
    return cat(R"("class_name":")", name, R"(","config":{"name":"top1"})");
  };
  expect_contains(described(std::make_unique<SparseCategoricalCrossentropy>()),
                  expected("SparseCategoricalAccuracy"));
  expect_contains(described(std::make_unique<CategoricalCrossentropy>()), expected("CategoricalAccuracy"));
  expect_contains(described(std::make_unique<BinaryCrossentropy>(), 1), expected("BinaryAccuracy"));
  expect_contains(described(std::make_unique<BinaryCrossentropy>()), expected("CategoricalAccuracy"));
  expect_contains(described(std::make_unique<MeanSquaredError>()), R"("metrics":[])");
}

TEST(TrainingConfig, ALossOfOnesOwnIsNotDescribed) {
  const TempDir dir;
  Model model = model_with(std::make_unique<OwnLoss>(), {});
  EXPECT_EQ(config_of(model, dir / "own.h5"), "null");
  EXPECT_FALSE(Model::load(dir / "own.h5").is_compiled());
}

// As Keras 2 and 3 write them: nested in a list for each output, functions wrapped, and what is not known
// here.
TEST(TrainingConfig, OfKerasIsReadAsFarAsItIsKnown) {
  const TempDir dir;
  Model model = model_with(std::make_unique<CategoricalCrossentropy>(), {});
  model.save(dir / "model.h5");
  SavedModel file = read_saved_model(dir / "model.h5");
  ConfigDict config = file.training_config.as_dict();
  for (auto& [key, value] : config) {
    if (key == "loss") value = from_json(R"({"class_name":"function","config":"mean_absolute_error"})");
    if (key == "metrics")
      value = from_json(
          R"([["mse", {"class_name":"MeanIoU","config":{"num_classes":3}},
        {"class_name":"AUC","config":{"name":"auc"}}, {"class_name":"MeanMetricWrapper",
         "config":{"name":"msle","fn":"mean_squared_logarithmic_error"}}]])");
  }
  file.training_config = config;
  write_saved_model(dir / "keras.h5", file);
  Model loaded = Model::load(dir / "keras.h5");
  EXPECT_EQ(loaded.loss().name(), "mean_absolute_error");
  const InMemoryDataset data(Tensor::zeros({6, 6, 6, 1}), Tensor::zeros({6, 3}));
  std::vector<std::string> names;
  for (const auto& [name, value] : loaded.evaluate(data).logs.entries()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "mse", "auc", "msle"}));
}

// As `compile(metrics=["AUC", ...])` of that version has them in its logs.
TEST(TrainingConfig, MetricsGivenByNameAreCalledAsThatKerasCallsThem) {
  const ConfigValue config = from_json(R"({"metrics": [["AUC", "Precision", "acc", "Accuracy", "mae", "MSE",
      {"class_name": "Recall", "config": {"name": "recall"}}]]})");
  const auto names = [&](const std::string& version) {
    std::vector<std::string> all;
    const DescribedTraining training = training_from_config(config, {}, version);
    EXPECT_TRUE(training.unknown.empty());
    for (const auto& metric : training.options.metrics) all.push_back(metric->name());
    return all;
  };
  EXPECT_EQ(names("3.15.1"),
            (std::vector<std::string>{"AUC", "Precision", "acc", "Accuracy", "mae", "MSE", "recall"}));
  for (const char* version : {"2.15.0", ""})
    EXPECT_EQ(names(version),
              (std::vector<std::string>{"auc", "precision", "acc", "Accuracy", "mae", "MSE", "recall"}));
}

class SeveralOutputs : public ::testing::Test {
 protected:
  DescribedTraining read(const std::string& json) const {
    return training_from_config(from_json(json), {}, "3.15.1", outputs_);
  }
  /// "policy 1 accuracy, value 0.5": of each loss the output, the weight and its metrics.
  std::string losses(const std::string& json) const {
    const DescribedTraining training = read(json);
    EXPECT_TRUE(training.unknown.empty()) << training.unknown.front();
    const auto* all = dynamic_cast<const OutputLosses*>(training.options.loss.get());
    std::string text;
    for (const OutputLoss& one : all ? all->losses() : std::vector<OutputLoss>()) {
      text += cat(text.empty() ? "" : ", ", one.output, " ", one.loss->name(), " ", one.weight);
      for (const auto& metric : one.metrics) text += " " + metric->name();
    }
    return text;
  }

  std::vector<NetPart> outputs_{{"policy", {3}}, {"value", {1}}};
};

TEST_F(SeveralOutputs, HaveLossesInListsAndDicts) {
  const std::string expected = "policy categorical_crossentropy 1 accuracy, value mean_squared_error 0.5";
  EXPECT_EQ(losses(R"({"loss": ["categorical_crossentropy", "mse"], "loss_weights": [1.0, 0.5],
                       "metrics": [["accuracy"], []]})"),
            expected);
  EXPECT_EQ(losses(R"({"loss": {"value": "mse", "policy": "categorical_crossentropy"},
                       "loss_weights": {"value": 0.5}, "metrics": {"policy": "accuracy"}})"),
            expected);
  EXPECT_EQ(losses(R"({"loss": [null, "mse"], "loss_weights": null})"), "value mean_squared_error 1");
  EXPECT_EQ(losses(R"({"loss": "mse", "metrics": ["mae"]})"),
            "policy mean_squared_error 1 mae, value mean_squared_error 1 mae")
      << "of all";
}

// The loss would be another one without a part of it.
TEST_F(SeveralOutputs, HaveNoLossWherePartOfItIsNotKnown) {
  for (const char* json :
       {R"({"loss": ["own_loss", "mse"]})", R"({"loss": {"polcy": "mse", "value": "mse"}})",
        R"({"loss": "mse", "loss_weights": {"polcy": 2.0}})"}) {
    const DescribedTraining training = read(json);
    EXPECT_EQ(training.options.loss, nullptr) << json;
    EXPECT_EQ(training.unknown.size(), 1u) << json;
  }
}

TEST_F(SeveralOutputs, KeepTheirLossesInBothKindsOfFiles) {
  const TempDir dir;
  for (const bool named : {false, true}) {
    Graph net;
    const Symbol x = net.add(Flatten(), net.input());
    const Symbol a = net.add(Dense({.units = 3, .name = "policy"}), x);
    const Symbol b = net.add(Dense({.units = 1, .name = "value"}), x);
    if (named)
      net.output({{"policy", a}, {"value", b}});
    else
      net.output({a, b});
    Model model(net, {6, 6, 1});
    model.compile({.optimizer = std::make_unique<Adam>(),
                   .loss = std::make_unique<OutputLosses>(
                       net.output_parts(),
                       std::vector<OutputLoss>{{.output = "value",
                                                .loss = std::make_shared<Huber>(Huber::Options{.delta = 0.5}),
                                                .weight = 0.25,
                                                .metrics = {make_metric("mae")}}})});
    const std::string h5 = config_of(model, dir / "net.h5");
    expect_contains(h5, named ? R"("loss_weights":{"value":0.25})" : R"("loss_weights":[0.0,0.25])");
    expect_contains(config_of(model, dir / "net.keras"), R"("module":"keras.losses")");
    for (const char* file : {"net.h5", "net.keras"}) {
      const Model loaded = Model::load(dir / file);
      const auto& losses = dynamic_cast<const OutputLosses&>(loaded.loss()).losses();
      ASSERT_EQ(losses.size(), 1u);
      EXPECT_EQ(losses[0].weight, 0.25);
      EXPECT_EQ(to_json(losses[0].loss->config()), R"({"delta":0.5})");
      EXPECT_EQ(losses[0].metrics.size(), 1u);
    }
  }
}

// It compares outputs with targets, as no metric here does.
TEST(TrainingConfig, TheClassAccuracyIsNotTheOneOfTheLoss) {
  const ConfigValue config =
      from_json(R"({"metrics": [{"class_name": "Accuracy", "config": {"name": "accuracy"}}]})");
  EXPECT_EQ(training_from_config(config, {}, "3.15.1").unknown.size(), 1u);
}

// Nothing but the loss is shown for numbers: their "accuracy" means nothing, and pictures have none at all.
TEST(TrainingConfig, MetricsFollowTheLossWhenNoneAreNamed) {
  const auto shown = [&](std::unique_ptr<Loss> loss, std::unique_ptr<Module> net, const Tensor& targets) {
    Model model(std::move(net), {6, 6, 1});
    model.compile({.optimizer = std::make_unique<Adam>(), .loss = std::move(loss)});
    const InMemoryDataset data(Tensor::full({8, 6, 6, 1}, 0.5), targets);
    const History history = model.fit(data, {.verbose = 0});
    std::vector<std::string> names;
    for (const auto& [name, values] : history.values) names.push_back(name);
    return names;
  };
  const auto to_picture = [] {
    return std::make_unique<Sequential>(Conv2D({.filters = 1, .padding = Padding::same}));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(shown(std::make_unique<MeanSquaredError>(), to_picture(), Tensor::zeros({8, 6, 6, 1})),
            Names{"loss"});
  EXPECT_EQ(shown(std::make_unique<MeanSquaredError>(),
                  std::make_unique<Sequential>(Flatten(), Dense({.units = 1})), Tensor::zeros({8})),
            Names{"loss"});
  EXPECT_EQ(
      shown(std::make_unique<BinaryCrossentropy>(),
            std::make_unique<Sequential>(Flatten(), Dense({.units = 1, .activation = Activation::sigmoid})),
            Tensor::zeros({8, 1})),
      (Names{"accuracy", "loss"}));
}

}  // namespace
}  // namespace ronde::test
