// Penalties in `fit` and `evaluate`, against stored values of real Keras (tests/golden/README.md), and on
// several ranks.
#include <cmath>
#include <map>
#include <mutex>

#include <ronde/nn/regularization_loss.h>
#include <ronde/nn/weight_layout.h>

#include "models/golden_record.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

const std::string kNet = "regularized_net_keras3.15.1";

void expect_close(const std::vector<double>& values, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

/// What Keras has of the training that the file is the start of.
struct Expected {
  ConfigValue record = golden_record(kNet + "_expected.json");

  double number(const char* key) const { return record.at(key).as_double(); }
  std::vector<double> numbers(const char* key) const { return test::numbers(record.at(key)); }
  /// Samples [begin, end) of the 16.
  InMemoryDataset samples(std::int64_t begin, std::int64_t end) const {
    const Tensor images = f64_tensor({16, 6, 6, 2}, record.at("images")).to(DType::f32);
    const Tensor labels = f64_tensor({16}, record.at("labels")).to(DType::i32);
    return {images.slice(0, begin, end).clone(), labels.slice(0, begin, end).clone()};
  }
};

/// Says nothing of what it loads: all of it is known.
Model load_in_f64(const std::string& path) {
  return Model::load(path, {.dtype = DType::f64,
                            .backend = &backend("cpu"),
                            .warn = [](const std::string& line) { ADD_FAILURE() << line; }});
}

TEST(Regularizers, GiveTheLossesAndWeightsOfKeras) {
  const Expected keras;
  const InMemoryDataset train = keras.samples(0, 10), test = keras.samples(10, 16);
  Model model = load_in_f64(golden(kNet + ".h5"));
  EXPECT_NEAR(regularization_loss(model.module()).item(), keras.number("penalty"), 1e-12);
  const Evaluation evaluation = model.evaluate(test, 4);
  EXPECT_NEAR(evaluation.logs.at("loss"), keras.number("evaluated"), 1e-9);
  EXPECT_NEAR(evaluation.loss_sum, 6 * keras.number("evaluated"), 1e-8);
  // Sample weights are factors of the losses of samples alone.
  EXPECT_NEAR(model.evaluate(test, {.batch_size = 4, .sample_weight = keras.numbers("sample_weight")})
                  .logs.at("loss"),
              keras.number("evaluated_weighted"), 1e-9);

  const History history = model.fit(train, {.batch_size = 4,
                                            .epochs = 3,
                                            .shuffle = false,
                                            .validation = &test,
                                            .validation_batch_size = 4,
                                            .verbose = 0});
  expect_close(history.values.at("loss"), keras.numbers("losses"), 1e-8);
  expect_close(history.values.at("val_loss"), keras.numbers("val_losses"), 1e-8);
  const ConfigList& end = keras.record.at("end").as_list();
  std::size_t next = 0;
  for (const Parameter& parameter : model.module().parameters()) {
    if (!parameter.variable.requires_grad()) continue;
    SCOPED_TRACE(parameter.name);
    ASSERT_LT(next, end.size());
    expect_close(to_keras_layout(parameter).to_vector<double>(), numbers(end[next++]), 1e-8);
  }
  EXPECT_EQ(next, end.size());
}

TEST(Regularizers, SurviveBothKindsOfFiles) {
  const Expected keras;
  const InMemoryDataset test = keras.samples(10, 16);
  const TempDir dir;
  std::string path = golden(kNet + ".h5");
  for (const char* next : {"a.keras", "b.h5", "c.keras"}) {
    load_in_f64(path).save(dir / next);
    path = dir / next;
    EXPECT_NEAR(load_in_f64(path).evaluate(test, 4).logs.at("loss"), keras.number("evaluated"), 1e-9) << next;
  }
}

// --- Ronde's own ways of making a step

std::unique_ptr<Sequential> penalised_net() {
  return std::make_unique<Sequential>(
      Conv2D({.filters = 4, .activation = Activation::relu, .kernel_regularizer = Regularizer::l2(0.05)}),
      MaxPooling2D(), Flatten(),
      Dense({.units = 3,
             .activation = Activation::softmax,
             .kernel_regularizer = Regularizer::l1_l2(0.01, 0.02),
             .bias_regularizer = Regularizer::l1(0.03)}));
}

struct Trained {
  std::vector<double> weights;
  std::map<std::string, std::vector<double>> history;
  double evaluated = 0.0;
};

struct Way {
  int ranks = 1;
  DistributedOptions distributed = {};
  FitOptions fit = {};
  DType dtype = DType::f64;
};

/// Four epochs of batches of 6 and one of 2; every rank ends with the same.
Trained train(Way way) {
  const InMemoryDataset data = small_images(20), test = small_images(9, 1);
  Trained result;
  std::mutex lock;
  test::run_ranks(way.ranks, [&](Communicator& world) {
    Model model(penalised_net(), {6, 6, 1},
                {.communicator = &world, .seed = 5, .dtype = way.dtype, .backend = &backend("cpu")});
    model.compile({.optimizer = std::make_unique<Adam>(
                       AdamOptions{.learning_rate = 0.01, .clip = {.global_norm = 0.5}}),
                   .loss = std::make_unique<CategoricalCrossentropy>(),
                   .distributed = way.distributed});
    FitOptions fit = way.fit;
    if (fit.global_batch_size == 0) fit.global_batch_size = 6;
    fit.epochs = 4;
    fit.validation = &test;
    fit.verbose = 0;
    const History history = model.fit(data, fit);
    const double evaluated = model.evaluate(test, 4).logs.at("loss");
    const std::lock_guard guard(lock);
    if (world.rank() == 0) result = {model.arena().values().to_vector<double>(), history.values, evaluated};
  });
  return result;
}

void expect_same_training(const Trained& a, const Trained& b, double tolerance) {
  expect_close(a.weights, b.weights, tolerance);
  for (const char* key : {"loss", "val_loss"}) expect_close(a.history.at(key), b.history.at(key), tolerance);
  EXPECT_NEAR(a.evaluated, b.evaluated, tolerance);
}

TEST(Regularizers, CountOnceOnAnyNumberOfRanksAndMicroBatches) {
  const Trained one = train({});
  expect_same_training(train({.ranks = 3}), one, 1e-12);
  expect_same_training(train({.ranks = 4}), one, 1e-12);  // the last batch leaves two without a sample
  expect_same_training(train({.ranks = 2, .fit = {.micro_batch = 2}}), one, 1e-12);
  expect_same_training(train({.ranks = 2, .distributed = {.state = StateLayout::sharded}}), one, 1e-12);
  expect_same_training(train({.fit = {.audit_every = 2}}), one, 1e-15);
}

TEST(Regularizers, CountOnceForAnUpdateOfSeveralBatches) {
  const Trained whole = train({.fit = {.global_batch_size = 10, .shuffle = false}});
  const Trained halves =
      train({.fit = {.global_batch_size = 5, .shuffle = false, .backward_passes_per_step = 2}});
  expect_same_training(halves, whole, 1e-12);
}

TEST(Regularizers, AreTheSameBitsInDeterministicMode) {
  const auto bits = [](int ranks) {
    return train({.ranks = ranks, .fit = {.deterministic = true}, .dtype = DType::f32});
  };
  const Trained one = bits(1);
  for (const int ranks : {2, 3}) {
    const Trained many = bits(ranks);
    EXPECT_EQ(many.weights, one.weights);
    EXPECT_EQ(many.history, one.history);
    EXPECT_EQ(many.evaluated, one.evaluated);
  }
  // And what the ordinary mode computes, whose micro-batches are other ones.
  expect_same_training(train({.fit = {.deterministic = true}}), train({}), 1e-12);
}

TEST(Regularizers, ArePartOfTheLossOfABatch) {
  Model model(penalised_net(), {6, 6, 1}, {.dtype = DType::f64, .backend = &backend("cpu")});
  model.compile(small_compile());
  const Tensor images = Tensor::full({2, 6, 6, 1}, 0.5), labels = Tensor::from<std::int32_t>({2}, {0, 2});
  const double penalty = regularization_loss(model.module()).item();
  EXPECT_GT(penalty, 0.1) << "too small to tell";
  const Variable losses = CategoricalCrossentropy()(model.predict(images), labels);
  const double expected = mean(losses).item() + penalty;
  EXPECT_NEAR(model.evaluate(InMemoryDataset(images, labels)).logs.at("loss"), expected, 1e-12);
  EXPECT_NEAR(model.train_on_batch(images, labels), expected, 1e-12);
}

TEST(Regularizers, OfAnotherNetARunDoesNotGoOnWith) {
  const TempDir dir;
  const auto model_of = [](double factor) {
    auto net = std::make_unique<Sequential>(
        Flatten(),
        Dense(
            {.units = 3, .activation = Activation::softmax, .kernel_regularizer = Regularizer::l2(factor)}));
    Model model(std::move(net), {6, 6, 1});
    model.compile(small_compile());
    return model;
  };
  Model first = model_of(0.5);
  first.fit(small_images(6), {.epochs = 1, .verbose = 0});
  first.save(dir / "run.h5");
  Model other = model_of(0.25);
  other.load_weights(dir / "run.h5");
  const std::string why = message_of<UsageError>(
      [&] { other.fit(small_images(6), {.epochs = 2, .resume = true, .verbose = 0}); });
  EXPECT_TRUE(why.starts_with("[fit] cannot resume: the run to go on with has regularizers 1 with hash "))
      << why;
}

}  // namespace
}  // namespace ronde::test
