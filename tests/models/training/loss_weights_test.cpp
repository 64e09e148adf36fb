// `class_weight` against `fit` of real Keras (tests/golden/README.md), and on several ranks.
#include <ronde/core/backend.h>
#include <ronde/models/file_io.h>
#include <ronde/nn/activation.h>

#include "keras_file/json.h"
#include "models/testing.h"
#include "support/thread_ranks.h"

namespace ronde::testing {
namespace {

std::vector<double> numbers(const ConfigValue& list) {
  std::vector<double> values;
  for (const ConfigValue& value : list.as_list()) values.push_back(value.as_double());
  return values;
}

Tensor f64(const Shape& shape, const std::vector<double>& values) {
  return Tensor::from<double>(shape, values, &backend("cpu"));
}

struct Case {
  explicit Case(const ConfigValue& entry)
      : units(entry.at("units").as_int()),
        is_softmax(entry.at("activation").as_string() == "softmax"),
        loss(entry.at("loss").as_string()),
        class_weight(numbers(entry.at("class_weight"))),
        inputs(f64({10, 2}, numbers(entry.at("inputs")))),
        target(f64({10, units}, std::vector<double>(static_cast<std::size_t>(10 * units)))) {
    const std::vector<double> values = numbers(entry.at("target"));
    const bool are_labels = entry.at("target_shape").as_list().size() == 1;
    target = are_labels ? f64({10}, values).to(DType::i32) : f64({10, units}, values);
    for (const ConfigValue& part : entry.at("start").as_list()) start.push_back(numbers(part));
    for (const ConfigValue& part : entry.at("end").as_list()) end.push_back(numbers(part));
    shown_loss = entry.at("shown_loss").as_double();
  }

  std::int64_t units;
  bool is_softmax;
  std::string loss;
  std::vector<double> class_weight;
  Tensor inputs, target;
  std::vector<std::vector<double>> start, end;  // kernel and bias
  double shown_loss = 0.0;
};

std::vector<Case> cases() {
  const ConfigValue record = from_json(read_file(golden("losses_keras3.15.1.json")));
  std::vector<Case> result;
  for (const ConfigValue& entry : record.at("class_weight").as_list()) result.emplace_back(entry);
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
  return {.global_batch_size = 4, .shuffle = false, .class_weight = one.class_weight, .verbose = 0};
}

TEST(ClassWeight, TrainsAsKerasDoes) {
  ASSERT_EQ(cases().size(), 3u);
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.loss);
    Model model = make_model(one);
    const InMemoryDataset data(one.inputs, one.target);
    const History history = model.fit(data, in_order(one));
    EXPECT_NEAR(history.values.at("loss").at(0), one.shown_loss, 1e-6);
    const auto parameters = model.module().parameters();
    for (std::size_t i = 0; i < one.end.size(); ++i) expect_near(parameters[i].variable.value(), one.end[i]);
  }
}

TEST(ClassWeight, TrainsAlikeOnSeveralRanksAndInPieces) {
  for (const Case& one : cases())
    test::run_ranks(3, [&](Communicator& world) {
      Model model = make_model(one, &world);
      const InMemoryDataset data(one.inputs, one.target);
      FitOptions options = in_order(one);
      options.micro_batch = 1;
      model.fit(data, options);
      const auto parameters = model.module().parameters();
      for (std::size_t i = 0; i < one.end.size(); ++i)
        expect_near(parameters[i].variable.value(), one.end[i]);
    });
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

TEST(ClassWeight, RefusesWhatCannotBeMeant) {
  const Case one = cases().at(0);
  Model model = make_model(one);
  const InMemoryDataset data(one.inputs, one.target);
  FitOptions options = in_order(one);
  options.class_weight = {1.0, 2.0};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] class_weight: 2 weights for outputs (4, 3)");
  options.class_weight = {1.0, -1.0, 2.0};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] class_weight must be finite and not negative, got -1");
}

}  // namespace
}  // namespace ronde::testing
