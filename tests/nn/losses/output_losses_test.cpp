#include <ronde/nn/output_losses.h>

#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/nn/loss_metric.h>
#include <ronde/nn/regression_loss.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

const std::vector<NetPart> kOutputs{{"policy", {3}}, {"map", {2, 2}}, {"value", {1}}};

OutputLoss policy_loss() {
  return {.output = "policy",
          .loss = make_loss("sparse_categorical_crossentropy"),
          .metrics = {std::make_shared<Accuracy>()}};
}

OutputLosses two_losses() {
  // In another order than the outputs'.
  return {kOutputs, {{.output = "value", .loss = make_loss("mse"), .weight = 0.25}, policy_loss()}};
}

/// Probabilities, a map that nothing trains, and values of two samples.
Tensor outputs() {
  return f64_tensor({2, 8}, {0.5, 0.25, 0.25, 9, 9, 9, 9, 2.0, 0.1, 0.2, 0.7, 9, 9, 9, 9, -1.0});
}
/// Labels and results.
Tensor targets() {
  return f64_tensor({2, 2}, {1, 1.5, 2, 1.0});
}

TEST(OutputLosses, AreAWeightedSumOfThoseOfEachSample) {
  const Variable loss = two_losses()(outputs(), targets());
  expect_close(loss.value(), {-std::log(0.25) + 0.25 * 0.25, -std::log(0.7) + 0.25 * 4.0}, 1e-12, "losses");
}

TEST(OutputLosses, SayWhatRowsOfTargetsAre) {
  const std::vector<NetPart> parts = two_losses().targets();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "policy");
  EXPECT_EQ(parts[0].shape, Shape());
  EXPECT_EQ(parts[1].name, "value");
  EXPECT_EQ(parts[1].shape, Shape{1});
}

TEST(OutputLosses, HaveTheGradientsOfTheirLosses) {
  const OutputLosses losses(kOutputs,
                            {{.output = "map", .loss = make_loss("mse"), .weight = 3.0}, policy_loss()});
  const Tensor target = f64_tensor({2, 5}, {2, 1, 2, 3, 4, 0, 5, 6, 7, 8}), untrained = random_tensor({2, 1});
  expect_gradients(
      [&](const Variables& v) {
        return losses(join_rows({softmax(v[0]), v[1], untrained}), target);
      },
      {random_tensor({2, 3}), random_tensor({2, 2, 2})});
}

// The gradient of a softmax whose result rounds to 0 at the label.
TEST(OutputLosses, SeeTheLogitsOfASoftmax) {
  const Variable logits = Variable::parameter(f64_tensor({1, 3}, {900, 0, 0}));
  const Variable rows = join_rows({softmax(logits), random_tensor({1, 2, 2}), f64_tensor({1, 1}, {0})});
  const Variable loss = two_losses()(rows, f64_tensor({1, 2}, {1, 0}));
  expect_close(loss.value(), {900}, 1e-9, "loss");
  sum(loss).backward();
  expect_close(logits.grad(), {1, -1, 0}, 1e-9, "gradient");
}

TEST(OutputLosses, OfOneOutputTakeItsTargetsAsTheyAre) {
  const OutputLosses losses(kOutputs, {policy_loss()});
  const Tensor labels = i32_tensor({1, 2});
  expect_close(losses(outputs(), labels).value(), {-std::log(0.25), -std::log(0.7)}, 1e-12, "of labels");
}

TEST(OutputLosses, HaveMetricsOfEachOutput) {
  const auto metrics = two_losses().part_metrics();
  ASSERT_EQ(metrics.size(), 3u);
  std::vector<std::string> names;
  std::vector<double> values;
  for (const auto& metric : metrics) {
    metric->expect_outputs({8});
    metric->update(outputs(), targets());
    names.push_back(metric->name());
    values.push_back(metric->result());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"policy_loss", "value_loss", "policy_accuracy"}));
  EXPECT_NEAR(values[0], (-std::log(0.25) - std::log(0.7)) / 2, 1e-12);
  EXPECT_NEAR(values[1], (0.25 + 4.0) / 2, 1e-12) << "without its weight";
  EXPECT_EQ(values[2], 0.5);
  EXPECT_EQ(metrics[0]->direction(), MetricDirection::smaller);
  EXPECT_EQ(metrics[2]->direction(), MetricDirection::larger);
  EXPECT_TRUE(metrics[2]->sums_are_counts());
  metrics[2]->update_weighted(outputs(), targets(), f64_tensor({2}, {0, 1}));
  EXPECT_NEAR(metrics[2]->result(), 2.0 / 3.0, 1e-12);
  metrics[2]->reset();
  EXPECT_EQ(metrics[2]->sums(), (MetricSums{0, 0}));
}

TEST(OutputLosses, TellMetricsTheShapeOfTheirOutput) {
  struct Told : Accuracy {
    Shape shape;
    void expect_outputs(const Shape& outputs) override { shape = outputs; }
  };
  const auto metric = std::make_shared<Told>();
  const OutputLosses losses(
      kOutputs,
      {{.output = "map", .loss = make_loss("mse")},
       {.output = "policy", .loss = make_loss("sparse_categorical_crossentropy"), .metrics = {metric}}});
  losses.part_metrics().back()->expect_outputs({8});
  EXPECT_EQ(metric->shape, Shape{3});
}

TEST(OutputLosses, AreRepeatableWhenAllAre) {
  struct Own : MeanSquaredError {
    bool repeatable = false;
    bool is_repeatable() const override { return repeatable; }
  };
  const auto own = std::make_shared<Own>();
  const OutputLosses losses(kOutputs, {policy_loss(), {.output = "value", .loss = own}});
  EXPECT_TRUE(two_losses().is_repeatable());
  EXPECT_FALSE(losses.is_repeatable());
  own->repeatable = true;
  EXPECT_TRUE(losses.is_repeatable());
}

TEST(OutputLosses, RefuseWhatDoesNotFit) {
  const auto made_of = [](std::vector<OutputLoss> losses) {
    return message_of([&] { OutputLosses(kOutputs, std::move(losses)); });
  };
  EXPECT_EQ(
      made_of({{.output = "polcy", .loss = make_loss("mse")}}),
      "[output_losses] output \"polcy\" is not supported, did you mean policy? Known are policy, map, value");
  EXPECT_EQ(made_of({policy_loss(), policy_loss()}), "[output_losses] there are two losses of policy");
  EXPECT_EQ(made_of({{.output = "map"}}), "[output_losses] the loss of map is null");
  EXPECT_EQ(made_of({}), "[output_losses] no output has a loss");
  EXPECT_EQ(message_of([] {
              two_losses()(outputs(), f64_tensor({2, 3}, {0, 0, 0, 0, 0, 0}));
            }),
            "[output_losses] expects rows of targets, (2, 2), got (2, 3)");
}

}  // namespace
}  // namespace ronde::test
