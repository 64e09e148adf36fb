// `metrics`, which see no weights, and `weighted_metrics`, which do, against `fit` and `evaluate` of real
// Keras (tests/golden/README.md), on several ranks, resumed and in files.
#include <cmath>
#include <map>

#include <ronde/models/saved_model.h>
#include <ronde/nn/activation.h>

#include "models/golden_record.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

const ConfigList& trained_cases() {
  static const ConfigValue record = golden_record("metrics_keras3.15.1.json");
  return record.at("trained").as_list();
}

/// As Keras shows what is asked for by a name.
std::vector<std::shared_ptr<Metric>> metrics_of(const ConfigValue& list) {
  std::vector<std::shared_ptr<Metric>> metrics;
  for (const ConfigValue& one : list.as_list())
    metrics.push_back(one.is_string() ? make_metric(one.as_string(), ConfigDict{{"name", one}})
                                      : make_metric(one.at("class_name").as_string(), one.at("config")));
  return metrics;
}

Model model_of(const ConfigValue& entry, Communicator* communicator = nullptr) {
  const std::map<std::string, Activation::Kind> activations{
      {"softmax", Activation::softmax}, {"sigmoid", Activation::sigmoid}, {"linear", Activation::linear}};
  auto net =
      std::make_unique<Sequential>(Dense({.units = entry.at("units").as_int(),
                                          .activation = activations.at(entry.at("activation").as_string())}));
  Model model(std::move(net), {2},
              {.communicator = communicator, .dtype = DType::f64, .backend = &backend("cpu")});
  const auto parameters = model.module().parameters();
  for (std::size_t i = 0; i < 2; ++i)
    parameters[i].variable.value().copy_from(
        f64_tensor(parameters[i].variable.shape(), entry.at("start").as_list()[i]));
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1}),
                 .loss = make_loss(entry.at("loss").as_string()),
                 .metrics = metrics_of(entry.at("metrics")),
                 .weighted_metrics = metrics_of(entry.at("weighted"))});
  return model;
}

InMemoryDataset data_of(const ConfigValue& entry) {
  const bool are_labels = entry.at("target_shape").as_list().size() == 1;
  const Shape shape = are_labels ? Shape{10} : Shape{10, entry.at("units").as_int()};
  const Tensor targets = f64_tensor(shape, entry.at("target"));
  const bool are_integers = are_labels || entry.at("is_integer").as_bool();
  return {f64_tensor({10, 2}, entry.at("inputs")), are_integers ? targets.to(DType::i32) : targets};
}

std::vector<double> weights_in(const ConfigValue& entry, const char* key) {
  const ConfigValue* list = entry.find(key);
  return list ? numbers(*list) : std::vector<double>();
}

ClassWeights class_weights_in(const ConfigValue& entry) {
  std::map<std::int64_t, double> weights;
  if (const ConfigValue* dict = entry.find("class_weight"))
    for (const auto& [key, weight] : dict->as_dict()) weights.emplace(std::stoi(key), weight.as_double());
  return weights;
}

FitOptions two_epochs(const ConfigValue& entry) {
  return {.global_batch_size = 4,
          .epochs = 2,
          .shuffle = false,
          .class_weight = class_weights_in(entry),
          .sample_weight = weights_in(entry, "sample_weight"),
          .verbose = 0};
}

void expect_value(double value, double expected, const std::string& name) {
  EXPECT_NEAR(value, expected, 1e-6 * std::max(1.0, std::abs(expected))) << name;
}

/// The same names, and values to 1e-6.
void expect_same(const Logs& logs, const ConfigValue& expected) {
  EXPECT_EQ(logs.entries().size(), expected.as_dict().size());
  for (const auto& [name, value] : expected.as_dict()) expect_value(logs.at(name), value.as_double(), name);
}

void expect_history(const History& history, const ConfigValue& expected) {
  EXPECT_EQ(history.values.size(), expected.as_dict().size());
  for (const auto& [name, values] : expected.as_dict())
    for (std::size_t epoch = 0; epoch < 2; ++epoch)
      expect_value(history.values.at(name).at(epoch), numbers(values)[epoch], name);
}

void expect_as_keras(const ConfigValue& entry, Communicator* communicator, bool deterministic) {
  Model model = model_of(entry, communicator);
  const InMemoryDataset data = data_of(entry);
  const EvaluateOptions weighs{.batch_size = 4, .sample_weight = weights_in(entry, "sample_weight")};
  expect_same(model.evaluate(data, weighs).logs, entry.at("evaluated"));
  expect_same(model.evaluate(data, 4).logs, entry.at("evaluated_without"));
  FitOptions options = two_epochs(entry);
  options.deterministic = deterministic;
  options.micro_batch = communicator == nullptr ? 0 : 1;
  expect_history(model.fit(data, options), entry.at("history"));
}

TEST(WeightedMetrics, AreThoseOfKeras) {
  ASSERT_EQ(trained_cases().size(), 9u);
  for (const ConfigValue& entry : trained_cases()) expect_as_keras(entry, nullptr, false);
}

TEST(WeightedMetrics, AreThoseOfKerasOnThreeRanksInPiecesAndInShards) {
  for (const bool deterministic : {false, true})
    for (const ConfigValue& entry : trained_cases())
      test::run_ranks(3, [&](Communicator& world) { expect_as_keras(entry, &world, deterministic); });
}

// Sums of fractions depend on their order, which is that of the batches.
TEST(WeightedMetrics, OfAnEvaluationAreTheSameBitsOnAnyNumberOfRanks) {
  const ConfigValue& entry = trained_cases()[2];
  EvaluateOptions weighs{.batch_size = 1};
  for (int i = 0; i < 10; ++i) weighs.sample_weight.push_back(0.1 + i * i / 7.0);
  std::vector<std::vector<std::pair<std::string, double>>> logs;
  for (const int ranks : {1, 2, 3, 4})
    test::run_ranks(ranks, [&](Communicator& world) {
      Model model = model_of(entry, &world);
      const Evaluation evaluation = model.evaluate(data_of(entry), weighs);
      if (world.rank() == 0) logs.push_back(evaluation.logs.entries());
    });
  for (const auto& others : logs) EXPECT_EQ(others, logs.front());
}

TEST(ClassWeights, AreOfClassesInOrderOrByName) {
  using Map = std::map<std::int64_t, double>;
  EXPECT_TRUE(ClassWeights().empty());
  EXPECT_EQ(ClassWeights({0.5, 2.0}).by_class(), (Map{{0, 0.5}, {1, 2.0}}));
  EXPECT_EQ(ClassWeights({{7, 0.5}}).by_class(), (Map{{7, 0.5}}));
  EXPECT_EQ(ClassWeights({{7, 0.5}, {1, 2.0}}).by_class(), (Map{{1, 2.0}, {7, 0.5}}));
  EXPECT_EQ(ClassWeights(std::vector{1.5}).by_class(), (Map{{0, 1.5}}));
}

// Those of a file, too: weights of all classes are a list there, as they were before some could be left out.
TEST(ClassWeights, BelongToTheRun) {
  const ConfigValue& entry = trained_cases()[4];
  Model model = model_of(entry);
  FitOptions options = two_epochs(entry);
  options.max_steps = 2;
  model.fit(data_of(entry), options);
  options.resume = true;
  for (const auto& [other, text] : {std::pair<ClassWeights, std::string>{{{1, 4.0}}, R"({"1":4.0})"},
                                    {{1.0, 1.0, 4.0}, "[1.0,1.0,4.0]"}}) {
    options.class_weight = other;
    EXPECT_EQ(message_of<UsageError>([&] { model.fit(data_of(entry), options); }),
              cat(R"([fit] cannot resume: the run to go on with has class weights {"2":4.0}, this one has )",
                  text, ": give the same"));
  }
}

TEST(WeightedMetrics, OfAValidationHaveItsWeights) {
  const ConfigValue& entry = trained_cases()[2];
  Model model = model_of(entry);
  const InMemoryDataset data = data_of(entry);
  FitOptions options = two_epochs(entry);
  options.sample_weight.assign(10, 0.0);  // trains nothing
  options.validation = &data;
  options.validation_sample_weight = weights_in(entry, "sample_weight");
  const History history = model.fit(data, options);
  for (const auto& [name, value] : entry.at("evaluated").as_dict())
    EXPECT_NEAR(history.values.at("val_" + name).at(1), value.as_double(), 1e-6) << name;
  EXPECT_EQ(history.values.at("weighted_accuracy").at(1), 0.0);
  EXPECT_EQ(history.values.at("accuracy").at(1), entry.at("evaluated").at("accuracy").as_double());
}

// Sums of an epoch go on where the run stopped.
TEST(WeightedMetrics, OfAResumedEpochAreThoseOfTheWholeOne) {
  for (const ConfigValue& entry : trained_cases()) {
    Model model = model_of(entry);
    FitOptions options = two_epochs(entry);
    options.max_steps = 2;
    model.fit(data_of(entry), options);
    options.max_steps = 0;
    options.resume = true;
    expect_history(model.fit(data_of(entry), options), entry.at("history"));
  }
}

TEST(WeightedMetrics, ComeBackFromBothKindsOfFiles) {
  const TempDir dir;
  for (const ConfigValue& entry : trained_cases())
    for (const char* ending : {".h5", ".keras"}) {
      const std::string path = dir / cat("model", ending);
      model_of(entry).save(path);
      Model loaded = Model::load(path, {.dtype = DType::f64, .backend = &backend("cpu")});
      const EvaluateOptions weighs{.batch_size = 4, .sample_weight = weights_in(entry, "sample_weight")};
      std::vector<double> expected, values;
      for (const auto& [name, value] : model_of(entry).evaluate(data_of(entry), weighs).logs.entries())
        expected.push_back(value);
      for (const auto& [name, value] : loaded.evaluate(data_of(entry), weighs).logs.entries())
        values.push_back(value);
      ASSERT_EQ(values.size(), expected.size());
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6);
    }
}

// What Keras looks up in its module of metrics.
TEST(WeightedMetrics, OfAnArchiveAreMetrics) {
  const TempDir dir;
  model_of(trained_cases()[0]).save(dir / "model.keras");
  const ConfigValue config = read_saved_model(dir / "model.keras").training_config;
  const ConfigList& weighted = config.at("weighted_metrics").as_list();
  ASSERT_EQ(weighted.size(), 3u);
  EXPECT_EQ(weighted.back().at("class_name").as_string(), "SparseTopKCategoricalAccuracy");
  EXPECT_EQ(weighted.back().at("module").as_string(), "keras.metrics");
}

TEST(WeightedMetrics, NamedAloneThereIsNoOther) {
  Model model(small_net(), {6, 6, 1});
  CompileOptions options = small_compile();
  options.weighted_metrics = {make_metric("accuracy")};
  model.compile(std::move(options));
  const InMemoryDataset data = small_images(6);
  const Evaluation evaluation =
      model.evaluate(data, EvaluateOptions{.sample_weight = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0}});
  ASSERT_EQ(evaluation.logs.entries().size(), 2u);
  const double of_one = evaluation.logs.at("accuracy");
  EXPECT_TRUE(of_one == 0.0 || of_one == 1.0) << of_one;
  EXPECT_EQ(evaluation.correct, 0) << "weights are no counts";
}

TEST(WeightedMetrics, MayNotBeNullNorCalledLoss) {
  Model model(small_net(), {6, 6, 1});
  const auto message = [&](std::shared_ptr<Metric> metric) {
    return message_of<UsageError>([&] {
      CompileOptions options = small_compile();
      options.weighted_metrics.push_back(std::move(metric));
      model.compile(std::move(options));
    });
  };
  EXPECT_EQ(message(nullptr), "[compile] weighted_metrics: number 1 of 1 is null");
  EXPECT_EQ(message(std::make_shared<Accuracy>("loss")),
            "[compile] a metric must not be called loss, as the loss is");
}

}  // namespace
}  // namespace ronde::test
