// `class_weight` and `sample_weight` against `fit` and `evaluate` of real Keras (tests/golden/README.md), and
// on several ranks.
#include <limits>

#include <ronde/core/backend.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/nn/activation.h>

#include "models/golden_record.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

std::vector<double> numbers_if_any(const ConfigValue& entry, const char* key) {
  const ConfigValue* list = entry.find(key);
  return list ? numbers(*list) : std::vector<double>();
}

Tensor f64(const Shape& shape, const std::vector<double>& values) {
  return Tensor::from<double>(shape, values, &backend("cpu"));
}

struct Case {
  explicit Case(const ConfigValue& entry)
      : units(entry.at("units").as_int()),
        is_softmax(entry.at("activation").as_string() == "softmax"),
        loss(entry.at("loss").as_string()),
        class_weight(numbers_if_any(entry, "class_weight")),
        sample_weight(numbers_if_any(entry, "sample_weight")),
        inputs(f64({10, 2}, numbers(entry.at("inputs")))),
        target(f64({10, units}, std::vector<double>(static_cast<std::size_t>(10 * units)))) {
    const std::vector<double> values = numbers(entry.at("target"));
    const bool are_labels = entry.at("target_shape").as_list().size() == 1;
    target = are_labels ? f64({10}, values).to(DType::i32) : f64({10, units}, values);
    for (const ConfigValue& part : entry.at("start").as_list()) start.push_back(numbers(part));
    for (const ConfigValue& part : entry.at("end").as_list()) end.push_back(numbers(part));
    evaluated_8 = entry.at("evaluated_8").as_double();
    shown_loss = entry.at("shown_loss").as_double();
  }

  std::int64_t units;
  bool is_softmax;
  std::string loss;
  std::vector<double> class_weight, sample_weight;
  Tensor inputs, target;
  std::vector<std::vector<double>> start, end;  // kernel and bias
  double evaluated_8 = 0.0;                     // loss of the first eight samples before it
  double shown_loss = 0.0;
};

/// Of Keras of this version: six with weights, then four without.
std::vector<Case> all_cases(const char* version = "3.15.1") {
  const ConfigValue record = golden_record(cat("losses_keras", version, ".json"));
  std::vector<Case> result;
  for (const ConfigValue& entry : record.at("weights").as_list()) result.emplace_back(entry);
  return result;
}

std::vector<Case> cases() {
  std::vector<Case> result = all_cases();
  std::erase_if(result,
                [](const Case& one) { return one.class_weight.empty() && one.sample_weight.empty(); });
  return result;
}

Model make_model(const Case& one, Communicator* communicator = nullptr) {
  auto net = std::make_unique<Sequential>(
      Dense({.units = one.units, .activation = one.is_softmax ? Activation::softmax : Activation::sigmoid}));
  Model model(std::move(net), {2},
              {.communicator = communicator, .dtype = DType::f64, .backend = &backend("cpu")});
  const auto parameters = model.module().parameters();
  for (std::size_t i = 0; i < one.start.size(); ++i)
    parameters[i].variable.value().copy_from(f64(parameters[i].variable.shape(), one.start[i]));
  model.compile(
      {.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1}), .loss = make_loss(one.loss)});
  return model;
}

void expect_near(const Tensor& actual, const std::vector<double>& expected) {
  const std::vector<double> values = actual.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-6) << "element " << i;
}

FitOptions in_order(const Case& one) {
  return {.global_batch_size = 4,
          .shuffle = false,
          .class_weight = one.class_weight,
          .sample_weight = one.sample_weight,
          .verbose = 0};
}

void expect_trained(Model& model, const Case& one) {
  const auto parameters = model.module().parameters();
  for (std::size_t i = 0; i < one.end.size(); ++i) expect_near(parameters[i].variable.value(), one.end[i]);
}

TEST(LossWeights, TrainsAsKerasDoes) {
  ASSERT_EQ(cases().size(), 6u);
  for (const Case& one : all_cases()) {
    SCOPED_TRACE(one.loss);
    Model model = make_model(one);
    const InMemoryDataset data(one.inputs, one.target);
    const History history = model.fit(data, in_order(one));
    EXPECT_NEAR(history.values.at("loss").at(0), one.shown_loss, 1e-6);
    expect_trained(model, one);
  }
}

// Sigmoids that round to 0 and 1 have a loss and a gradient all the same; a crossentropy takes the logits of
// whatever made its probabilities.
TEST(Crossentropies, GoBackToTheLogitsAsKerasDoes) {
  for (const char* version : {"2.15.0", "3.15.1"}) {
    const std::vector<Case> all = all_cases(version);
    ASSERT_EQ(all.size(), 10u);
    for (std::size_t i = 6; i < all.size(); ++i) {
      const Case& one = all[i];
      SCOPED_TRACE(cat(version, ' ', one.is_softmax ? "softmax " : "sigmoid ", one.loss));
      Model model = make_model(one);
      const InMemoryDataset eight(one.inputs.slice(0, 0, 8).clone(), one.target.slice(0, 0, 8).clone());
      EXPECT_NEAR(model.evaluate(eight).logs.at("loss"), one.evaluated_8, 1e-6);
      const History history = model.fit(InMemoryDataset(one.inputs, one.target), in_order(one));
      EXPECT_NEAR(history.values.at("loss").at(0), one.shown_loss, 1e-6);
      expect_trained(model, one);
    }
  }
}

TEST(LossWeights, TrainsAlikeOnSeveralRanksInPiecesAndInShards) {
  for (const bool deterministic : {false, true})
    for (const Case& one : all_cases())
      test::run_ranks(3, [&](Communicator& world) {
        Model model = make_model(one, &world);
        const InMemoryDataset data(one.inputs, one.target);
        FitOptions options = in_order(one);
        options.micro_batch = 1;
        options.deterministic = deterministic;
        model.fit(data, options);
        expect_trained(model, one);
      });
}

/// One epoch of it, batch by batch, of which each rank has its part; shows the loss that `fit` would.
double train_on_batches(Model& model, const Case& one) {
  const int ranks = model.communicator().size(), rank = model.communicator().rank();
  double loss_sum = 0.0;
  for (const auto& [first, count] : {std::pair{0, 4}, {4, 4}, {8, 2}}) {
    const int begin = first + count * rank / ranks, end = first + count * (rank + 1) / ranks;
    TrainBatchOptions options{.class_weight = one.class_weight};
    if (!one.sample_weight.empty())
      options.sample_weight = {one.sample_weight.begin() + begin, one.sample_weight.begin() + end};
    loss_sum += count * model.train_on_batch(one.inputs.slice(0, begin, end), one.target.slice(0, begin, end),
                                             options);
  }
  return loss_sum / 10;
}

TEST(LossWeights, OfBatchesTrainAsKerasDoes) {
  for (const Case& one : cases())
    for (const int ranks : {1, 3})
      test::run_ranks(ranks, [&](Communicator& world) {
        Model model = make_model(one, &world);
        EXPECT_NEAR(train_on_batches(model, one), one.shown_loss, 1e-6);
        expect_trained(model, one);
      });
}

TEST(LossWeights, OfABatchAreOfItAlone) {
  const Case one = cases().at(0);
  Model model = make_model(one);
  const std::vector<double> nothing(10, 0.0);
  const auto train = [&](const TrainBatchOptions& options) {
    return model.train_on_batch(one.inputs, one.target, options);
  };
  EXPECT_EQ(train({.class_weight = {0.0, 0.0, 0.0}}), 0.0);
  EXPECT_EQ(train({.sample_weight = nothing}), 0.0);
  EXPECT_GT(train({}), 0.0);
  // One that a callback takes in a `fit` has its own, and leaves those of the `fit`.
  std::vector<double> losses;
  LambdaCallback between({.on_train_batch_end = [&](std::int64_t, const Logs&) {
    losses.push_back(train({}));
    losses.push_back(train({.sample_weight = nothing}));
  }});
  FitOptions options = in_order(one);
  options.sample_weight = nothing;
  options.callbacks = {&between};
  EXPECT_EQ(model.fit(InMemoryDataset(one.inputs, one.target), options).values.at("loss").at(0), 0.0);
  ASSERT_EQ(losses.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(losses[i] > 0.0, i % 2 == 0);
}

// Weights go with samples, not with places: another order trains to another end, and so do weights that did
// not move along.
TEST(SampleWeight, FollowsShuffledSamples) {
  const Case one = cases().at(3);
  const InMemoryDataset data(one.inputs, one.target);
  std::vector<double> only_seventh(10, 0.0);
  only_seventh[7] = 2.0;
  Model alone = make_model(one), among_all = make_model(one);
  const InMemoryDataset seventh(one.inputs.slice(0, 7, 8).clone(), one.target.slice(0, 7, 8).clone());
  alone.fit(seventh, {.global_batch_size = 1, .epochs = 2, .sample_weight = {0.2}, .verbose = 0});
  among_all.fit(data, {.global_batch_size = 10, .epochs = 2, .sample_weight = only_seventh, .verbose = 0});
  const auto expected = alone.module().parameters(), actual = among_all.module().parameters();
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_near(actual[i].variable.value(), expected[i].variable.value().to_vector<double>());
}

TEST(SampleWeight, OfEvaluationAndValidationIsAsKerasHasIt) {
  for (const Case& one : cases())
    test::run_ranks(2, [&](Communicator& world) {
      Model model = make_model(one, &world);
      const InMemoryDataset eight(one.inputs.slice(0, 0, 8).clone(), one.target.slice(0, 0, 8).clone());
      std::vector<double> weights = one.sample_weight;
      weights.resize(weights.empty() ? 0 : 8);
      const Evaluation evaluation =
          model.evaluate(eight, EvaluateOptions{.batch_size = 3, .sample_weight = weights});
      EXPECT_NEAR(*evaluation.logs.find("loss"), one.evaluated_8, 1e-6);
      FitOptions options = in_order(one);
      // Trains nothing, or only little.
      options.class_weight = std::vector<double>(one.class_weight.size(), 0.0);
      options.sample_weight.assign(options.sample_weight.size(), 0.0);
      options.validation = &eight;
      options.validation_sample_weight = weights;
      EXPECT_NEAR(model.fit(InMemoryDataset(one.inputs, one.target), options).values.at("val_loss").at(0),
                  one.evaluated_8, 1e-6);
    });
}

TEST(SampleWeight, MultipliesThatOfTheClass) {
  const Case classes = cases().at(0);
  std::vector<double> product;
  for (const std::int32_t label : classes.target.to_vector<std::int32_t>())
    product.push_back(0.5 * classes.class_weight.at(static_cast<std::size_t>(label)));
  Model together = make_model(classes), as_product = make_model(classes);
  const InMemoryDataset data(classes.inputs, classes.target);
  FitOptions options = in_order(classes);
  options.sample_weight.assign(10, 0.5);
  const double shown = together.fit(data, options).values.at("loss").at(0);
  options.class_weight = {};
  options.sample_weight = product;
  EXPECT_NEAR(as_product.fit(data, options).values.at("loss").at(0), shown, 1e-12);
}

TEST(ClassWeight, IsOfThisFitAlone) {
  const Case one = cases().at(0);
  Model model = make_model(one);
  const InMemoryDataset data(one.inputs, one.target);
  const double loss = model.evaluate(data).loss_sum;
  FitOptions options = in_order(one);
  options.class_weight = {0.0, 0.0, 0.0};
  EXPECT_EQ(model.fit(data, options).values.at("loss").at(0), 0.0);
  EXPECT_EQ(model.evaluate(data).loss_sum, loss) << "weights of 0 train nothing, and evaluation has none";
  options.class_weight = {};
  EXPECT_GT(model.fit(data, options).values.at("loss").at(0), 0.0);
}

TEST(ClassWeight, FitThatCannotGoOnLeavesNone) {
  const Case one = cases().at(0);
  Model model = make_model(one);
  const InMemoryDataset data(one.inputs, one.target);
  FitOptions options = in_order(one);
  options.class_weight = {0.0, 0.0, 0.0};
  options.resume = true;
  EXPECT_THROW(model.fit(data, options), UsageError);
  options.class_weight = {};
  options.resume = false;
  EXPECT_GT(model.fit(data, options).values.at("loss").at(0), 0.0);
}

// A run that stops goes on with the weights that it had, to the same end; with others it would be another.
TEST(SampleWeight, BelongsToTheRun) {
  const Case one = cases().at(4);
  const InMemoryDataset data(one.inputs, one.target);
  Model model = make_model(one);
  FitOptions options = in_order(one);
  options.max_steps = 2;
  model.fit(data, options);
  options.max_steps = 0;
  options.resume = true;
  options.sample_weight.back() += 1.0;
  EXPECT_TRUE(message_of<UsageError>([&] {
                model.fit(data, options);
              }).starts_with("[fit] cannot resume: the run to go on with has sample weights 10 with hash "));
  options.sample_weight = {};
  EXPECT_TRUE(message_of<UsageError>([&] {
                model.fit(data, options);
              }).ends_with("this one has none: give the same"));
  options.sample_weight = one.sample_weight;
  model.fit(data, options);
  expect_trained(model, one);
}

// Not an epoch later, when the first validation needs them, nor once a resumed run has been taken up.
TEST(SampleWeight, IsRefusedBeforeAnythingIsTrained) {
  const Case one = cases().at(4);
  const InMemoryDataset data(one.inputs, one.target);
  Model model = make_model(one);
  FitOptions options = in_order(one);
  options.validation = &data;
  options.validation_sample_weight = {1.0, 2.0};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] validation_sample_weight: 2 weights for 10 samples");
  options.validation = nullptr;
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] validation_sample_weight: 2 weights for 0 samples");
  EXPECT_EQ(model.progress().steps, 0);
}

TEST(LossWeights, RefusesWhatCannotBeMeant) {
  const Case one = cases().at(0);
  Model model = make_model(one);
  const InMemoryDataset data(one.inputs, one.target);
  FitOptions options = in_order(one);
  options.class_weight = {1.0, 2.0, 1.0, 1.0};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] class_weight: there is no class 3 of 3 outputs");
  options.class_weight = {{-1, 2.0}};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] class_weight: there is no class -1 of 3 outputs");
  options.class_weight = {1.0, -1.0, 2.0};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] class_weight must be finite and not negative, got -1");
  options.class_weight = {};
  options.sample_weight = {1.0, 2.0};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] sample_weight: 2 weights for 10 samples");
  options.sample_weight.assign(10, std::numeric_limits<double>::infinity());
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] sample_weight must be finite and not negative, got inf");
  EXPECT_EQ(message_of<UsageError>([&] { model.evaluate(data, EvaluateOptions{.sample_weight = {1.0}}); }),
            "[evaluate] sample_weight: 1 weight for 10 samples");
  const auto refused_batch = [&](const TrainBatchOptions& of_batch) {
    return message_of<UsageError>([&] { model.train_on_batch(one.inputs, one.target, of_batch); });
  };
  EXPECT_EQ(refused_batch({.sample_weight = {1.0}}),
            "[train_on_batch] sample_weight: 1 weight for 10 samples");
  EXPECT_EQ(refused_batch({.sample_weight = std::vector<double>(10, -1.0)}),
            "[train_on_batch] sample_weight must be finite and not negative, got -1");
  EXPECT_EQ(refused_batch({.class_weight = {{7, 1.0}}}),
            "[train_on_batch] class_weight: there is no class 7 of 3 outputs");
}

}  // namespace
}  // namespace ronde::test
