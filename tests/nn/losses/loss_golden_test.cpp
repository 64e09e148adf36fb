// Losses and metrics against those of real Keras (tests/golden/README.md).
#include <memory>

#include <ronde/core/ops.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/metric.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

using nlohmann::json;

Shape shape_of(const json& extents) {
  Shape shape;
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return shape;
}

Tensor f64(const json& values, const json& extents) {
  return f64_tensor(shape_of(extents), values.get<std::vector<double>>());
}

ConfigValue options_of(const json& entry) {
  return from_json(ordered_json::parse(entry.at("options").dump()));
}

void check_loss(const json& entry, double tolerance) {
  const std::string name = entry.at("name");
  SCOPED_TRACE(cat(name, ' ', entry.at("options").dump(), ' ', entry.at("shape").dump()));
  const std::unique_ptr<Loss> loss = make_loss(name, options_of(entry));
  const Tensor output = f64(entry.at("output"), entry.at("shape"));
  const Tensor target = f64(entry.at("target"), entry.at("shape"));
  const auto expected = entry.at("loss").get<std::vector<double>>();
  expect_close((*loss)(output, target).value(), expected, tolerance, "losses");
  if (output.rank() == 2 && output.size(1) == 1)
    expect_close((*loss)(output, target.reshape({-1})).value(), expected, tolerance, "targets (n)");
}

/// In two batches, as Keras was given them.
void check_metric(const json& entry) {
  const std::string name = entry.at("name");
  SCOPED_TRACE(cat(name, ' ', entry.at("options").dump()));
  const std::shared_ptr<Metric> metric = make_metric(name, options_of(entry));
  const Tensor output = f64(entry.at("output"), entry.at("shape"));
  const Tensor plain = f64(entry.at("target"), entry.at("target_shape"));
  const Tensor target = plain.rank() == 1 ? plain.to(DType::i32) : plain;
  for (const auto& [begin, end] : {std::pair{0, 5}, {5, 12}})
    metric->update(output.slice(0, begin, end), target.slice(0, begin, end));
  EXPECT_NEAR(metric->result(), entry.at("value").get<double>(), 1e-6);
  metric->reset();
  EXPECT_EQ(metric->sums()[1], 0.0);
}

void check_losses(const std::string& file, double tolerance) {
  const json record = read_golden(file);
  ASSERT_EQ(record.at("losses").size(), 42u);
  for (const json& entry : record.at("losses")) check_loss(entry, tolerance);
  ASSERT_EQ(record.at("metrics").size(), 87u);
  for (const json& entry : record.at("metrics")) check_metric(entry);
}

TEST(LossGolden, MatchesKeras2) {
  check_losses("losses_keras2.15.0.json", 1e-6);  // rounds constants, adds 1e-7 to logarithms' arguments
}

TEST(LossGolden, MatchesKeras3) {
  check_losses("losses_keras3.15.1.json", 1e-8);
}

// By the shapes of outputs and targets, whatever the loss is: outputs (n, ..., 1) are yes or no to
// "accuracy", one class to others. Keras' CategoricalAccuracy of targets (n) means nothing, and is not asked
// for.
TEST(LossGolden, EachAccuracyIsThatOfKeras) {
  const json record = read_golden("metrics_keras3.15.1.json");
  ASSERT_EQ(record.at("accuracies").size(), 22u);
  for (const json& entry : record.at("accuracies"))
    for (const auto& [name, value] : entry.at("values").items()) {
      SCOPED_TRACE(cat(name, ' ', entry.at("shape").dump(), ' ', entry.at("target_shape").dump()));
      const std::shared_ptr<Metric> metric = make_metric(name);
      const Tensor target = f64(entry.at("target"), entry.at("target_shape"));
      metric->update(f64(entry.at("output"), entry.at("shape")),
                     entry.at("is_integer").get<bool>() ? target.to(DType::i32) : target);
      EXPECT_NEAR(metric->result(), value.get<double>(), 1e-7);
    }
}

// A file that Keras wrote, or one for Keras, names a metric as Keras does.
TEST(LossGolden, MetricsAreShownAsKerasShowsThem) {
  const json record = read_golden("losses_keras3.15.1.json");
  for (const json& entry : record.at("metrics")) {
    const std::shared_ptr<Metric> metric = make_metric(entry.at("name"), options_of(entry));
    const std::string shown = entry.at("shown_as");
    EXPECT_TRUE(metric->name() == shown || shown == "logcosh") << metric->name() << ", shown as " << shown;
    const ConfigValue config = metric->config();
    const auto again = config.is_string()
                           ? make_metric(config.as_string())
                           : make_metric(config.at("class_name").as_string(), config.at("config"));
    EXPECT_EQ(to_json(again->config()), to_json(config));
    EXPECT_EQ(again->name(), metric->name());
  }
}

}  // namespace
}  // namespace ronde::test
