// Nets that say of each pixel what it shows, against real Keras (tests/golden/README.md) and on several
// ranks.
#include <gtest/gtest.h>

#include <map>

#include <ronde/core/backend.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/weight_layout.h>

#include "models/golden_record.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

InMemoryDataset pixels_of(const ConfigValue& record, const ConfigValue& entry) {
  Shape shape{6};
  for (const ConfigValue& extent : entry.at("target_shape").as_list()) shape.push_back(extent.as_int());
  const Tensor targets = f64_tensor(shape, entry.at("targets"));
  const bool are_labels = entry.at("loss").as_string().starts_with("sparse");
  return {f64_tensor({6, 4, 5, 2}, record.at("images")), are_labels ? targets.to(DType::i32) : targets};
}

const std::map<std::string, Activation::Kind> kActivations{{"linear", Activation::linear},
                                                           {"sigmoid", Activation::sigmoid},
                                                           {"softmax", Activation::softmax},
                                                           {"softplus", Activation::softplus}};

Model pixel_model(const ConfigValue& entry, Communicator* communicator = nullptr) {
  auto net = std::make_unique<Sequential>(
      Conv2D({.filters = entry.at("classes").as_int(),
              .kernel = {3, 3},
              .padding = Padding::same,
              .activation = kActivations.at(entry.at("activation").as_string())}));
  Model model(std::move(net), {4, 5, 2},
              {.communicator = communicator, .dtype = DType::f64, .backend = &backend("cpu")});
  std::vector<Parameter> weights = model.module().parameters();
  for (std::size_t i = 0; i < weights.size(); ++i)
    assign_keras_layout(weights[i], f64_tensor(keras_shape(weights[i]), entry.at("start").as_list()[i]));
  CompileOptions options{.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.5}),
                         .loss = make_loss(entry.at("loss").as_string())};
  for (const ConfigValue& name : entry.at("metrics").as_list())
    options.metrics.push_back(make_metric(name.as_string(), ConfigDict{{"name", name.as_string()}}));
  model.compile(std::move(options));
  return model;
}

FitOptions in_order(const ConfigValue& entry) {
  FitOptions options{.global_batch_size = 4, .epochs = 2, .shuffle = false, .verbose = 0};
  if (const ConfigValue* weights = entry.find("sample_weight")) options.sample_weight = numbers(*weights);
  return options;
}

void expect_logs(const Logs& logs, const ConfigValue& expected) {
  EXPECT_EQ(logs.entries().size(), expected.as_dict().size());
  for (const auto& [name, value] : expected.as_dict())
    EXPECT_NEAR(logs.at(name), value.as_double(), 1e-6) << name;
}

/// Two epochs of two steps each.
void expect_trained_as_keras(Model& model, const InMemoryDataset& data, const ConfigValue& entry,
                             std::int64_t micro_batch = 0) {
  FitOptions options = in_order(entry);
  options.micro_batch = micro_batch;
  const History history = model.fit(data, options);
  for (const auto& [name, values] : entry.at("history").as_dict())
    for (std::size_t epoch = 0; epoch < 2; ++epoch)
      EXPECT_NEAR(history.values.at(name).at(epoch), numbers(values)[epoch], 1e-6) << name;
  const std::vector<Parameter> weights = model.module().parameters();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::vector<double> ours = to_keras_layout(weights[i]).to_vector<double>();
    const std::vector<double> keras = numbers(entry.at("end").as_list()[i]);
    ASSERT_EQ(ours.size(), keras.size());
    for (std::size_t k = 0; k < ours.size(); ++k) EXPECT_NEAR(ours[k], keras[k], 1e-6) << weights[i].name;
  }
}

TEST(Segmentation, TrainsAsKerasDoes) {
  const ConfigValue record = golden_record("segmentation_keras3.15.1.json");
  ASSERT_EQ(record.at("cases").as_list().size(), 8u);
  for (const ConfigValue& entry : record.at("cases").as_list()) {
    SCOPED_TRACE(cat(entry.at("activation").as_string(), " ", entry.at("loss").as_string(), " ",
                     entry.at("target_shape").as_list().size()));
    Model model = pixel_model(entry);
    const InMemoryDataset data = pixels_of(record, entry);
    expect_logs(model.evaluate(data, 4).logs, entry.at("evaluated"));
    expect_trained_as_keras(model, data, entry);
  }
}

TEST(Segmentation, TrainsAsKerasDoesOnThreeRanksInPieces) {
  const ConfigValue record = golden_record("segmentation_keras3.15.1.json");
  for (const ConfigValue& entry : record.at("cases").as_list())
    test::run_ranks(3, [&](Communicator& world) {
      Model model = pixel_model(entry, &world);
      const InMemoryDataset data = pixels_of(record, entry);
      expect_logs(model.evaluate(data, 4).logs, entry.at("evaluated"));
      expect_trained_as_keras(model, data, entry, 1);
    });
}

TEST(Segmentation, CountsPositions) {
  const ConfigValue record = golden_record("segmentation_keras3.15.1.json");
  const ConfigValue& entry = record.at("cases").as_list().front();
  Model model = pixel_model(entry);
  const Evaluation evaluation = model.evaluate(pixels_of(record, entry));
  EXPECT_EQ(evaluation.count, 6);
  EXPECT_EQ(static_cast<double>(evaluation.correct) / (6 * 4 * 5), evaluation.logs.at("accuracy"));
}

// (n, 1) is what NumPy's users have, and what CIFAR-10 comes with.
TEST(Labels, MayBeAColumn) {
  const InMemoryDataset rows = small_images(22);
  const InMemoryDataset columns(rows.inputs(), rows.targets().reshape({22, 1}));
  Model one = small_model(), other = small_model();
  const FitOptions options{.batch_size = 8, .epochs = 2, .validation = &columns, .verbose = 0};
  FitOptions with_rows = options;
  with_rows.validation = &rows;
  EXPECT_EQ(one.fit(columns, options).values, other.fit(rows, with_rows).values);
  EXPECT_EQ(one.weights_sha256(), other.weights_sha256());
}

TEST(Labels, OfOtherShapesAreRefused) {
  const ConfigValue record = golden_record("segmentation_keras3.15.1.json");
  const ConfigValue& entry = record.at("cases").as_list().front();
  Model model = pixel_model(entry);
  const Tensor images = f64_tensor({6, 4, 5, 2}, record.at("images"));
  const InMemoryDataset data(images, Tensor::zeros({6, 5, 4}, {.dtype = DType::i32}));
  EXPECT_EQ(message_of<Error>([&] { model.evaluate(data); }),
            "[sparse_categorical_crossentropy] expects labels of shape (6, 4, 5), got (6, 5, 4)");
}

}  // namespace
}  // namespace ronde::test
