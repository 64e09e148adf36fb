// Nets with several inputs and outputs, against real Keras (tests/golden/README.md), in files, and on several
// ranks.
#include <gtest/gtest.h>

#include <ronde/core/ops.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/output_losses.h>

#include "models/golden_record.h"
#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

struct Record {
  explicit Record(const std::string& file)
      : path(golden(file)), record(golden_record(file.substr(0, file.find('/')) + "/net.json")) {}

  Tensor values(const char* name, const Shape& shape) const {
    return f64_tensor(shape, record.at(name)).to(DType::f32);
  }
  Tensor inputs() const {
    return join_rows({values("board", {12, 6, 6, 2}), values("clocks", {12, 3})}).value();
  }
  InMemoryDataset data() const {
    return {inputs(), join_rows({values("moves", {12, 1}), values("results", {12, 1})}).value()};
  }

  std::string path;
  ConfigValue record;
};

std::vector<Variable> predicted(Model& model, const Tensor& inputs) {
  const auto& net = dynamic_cast<const Graph&>(model.module());
  return split_rows(model.predict(inputs), net.output_parts());
}

void expect_predictions(Model& model, const Record& keras) {
  const std::vector<Variable> parts = predicted(model, keras.inputs());
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_LE(largest_difference(parts[0].value(), keras.values("policy", {12, 4})), 1e-6);
  EXPECT_LE(largest_difference(parts[1].value(), keras.values("value", {12, 1})), 1e-6);
  EXPECT_LE(largest_difference(parts[2].value(), keras.values("hidden", {12, 8})), 1e-6);
}

void expect_history(const History& history, const Record& keras, std::size_t first_epoch = 0) {
  EXPECT_EQ(history.values.size(), keras.record.at("history").as_dict().size());
  for (const auto& [name, values] : keras.record.at("history").as_dict())
    for (std::size_t epoch = first_epoch; epoch < 4; ++epoch)
      EXPECT_NEAR(history.values.at(name).at(epoch - first_epoch), numbers(values)[epoch], 2e-6) << name;
}

FitOptions in_order(std::int64_t epochs) {
  return {.global_batch_size = 12, .epochs = epochs, .shuffle = false, .verbose = 0};
}

class SeveralParts : public ::testing::TestWithParam<const char*> {
 protected:
  Record keras_{GetParam()};
};

TEST_P(SeveralParts, AreThoseOfKeras) {
  Model model = Model::load(keras_.path);
  const auto& net = dynamic_cast<const Graph&>(model.module());
  EXPECT_EQ(net.input_parts()[0].name, "board");
  EXPECT_EQ(net.input_parts()[1].name, "clocks");
  std::vector<std::string> layers{"board"};  // inputs are layers to Keras
  for (const Module* layer : net.layers()) layers.push_back(layer->name());
  std::vector<std::string> expected;
  for (const ConfigValue& name : keras_.record.at("layers").as_list())
    if (name.as_string() != "clocks") expected.push_back(name.as_string());
  EXPECT_EQ(layers, expected);
  expect_predictions(model, keras_);
}

TEST_P(SeveralParts, AreTrainedAsKerasDoes) {
  for (const int ranks : {1, 3})
    test::run_ranks(ranks, [&](Communicator& communicator) {
      Model model = Model::load(keras_.path, {.communicator = &communicator});
      ASSERT_TRUE(model.is_compiled());
      const auto& losses = dynamic_cast<const OutputLosses&>(model.loss());
      ASSERT_EQ(losses.losses().size(), 2u) << "the third output has none";
      EXPECT_EQ(losses.losses()[1].weight, 0.5);
      const InMemoryDataset data = keras_.data();
      const Evaluation before = model.evaluate(data);
      EXPECT_EQ(before.correct, 6);
      EXPECT_EQ(before.count, 12);
      expect_history(model.fit(data, in_order(4)), keras_);
      for (const auto& [name, values] : keras_.record.at("history").as_dict())
        EXPECT_NEAR(before.logs.at(name), numbers(values)[0], 2e-6) << name;
    });
}

TEST_P(SeveralParts, GoOnFromFilesOfTheirs) {
  for (const char* file : {"net.h5", "net.keras"}) {
    const TempDir dir;
    Model first = Model::load(keras_.path);
    const InMemoryDataset data = keras_.data();
    first.fit(data, in_order(2));
    first.save(dir / file);
    Model second = Model::load(dir / file);
    EXPECT_EQ(second.weights_sha256(), first.weights_sha256());
    EXPECT_EQ(dynamic_cast<const OutputLosses&>(second.loss()).losses().size(), 2u);
    FitOptions rest = in_order(4);
    rest.initial_epoch = 2;
    expect_history(second.fit(data, rest), keras_, 2);
  }
}

TEST(SeveralPartsModel, TakesNoOtherInputShape) {
  const std::string path = golden("several_parts_keras3.15.1/net.keras");
  EXPECT_EQ(Model::load(path, {.input_shape = Shape{75}}).module().input_shape(), Shape{75});
  EXPECT_EQ(message_of<Error>([&] {
              Model::load(path, {.input_shape = Shape{6, 6, 2}});
            }),
            path + ": its input shape is (75,), not (6, 6, 2)");
}

TEST(SeveralPartsModel, HasNoWeightsOfClasses) {
  const Record keras("several_parts_keras3.15.1/net.keras");
  Model model = Model::load(keras.path);
  FitOptions options = in_order(1);
  options.class_weight = {{0, 2.0}};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(keras.data(), options); }),
            "[fit] class_weight is of a net with one output; with several, give sample_weight");
}

INSTANTIATE_TEST_SUITE_P(Files, SeveralParts,
                         ::testing::Values("several_parts_keras2.15.0/net.h5",
                                           "several_parts_keras3.15.1/net.h5",
                                           "several_parts_keras3.15.1/net.keras"));

}  // namespace
}  // namespace ronde::test
