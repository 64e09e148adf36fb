#include <ronde/nn/loss_metric.h>
#include <ronde/nn/regression_loss.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

const Tensor& scores() {
  static const Tensor values = f64_tensor({4, 3}, {1, 2, 3,  //
                                                   5, 4, 0,  //
                                                   0, 7, 7,  // the first of equals wins
                                                   2, 1, 0});
  return values;
}

TEST(Accuracy, CountsOverBatches) {
  Accuracy accuracy;
  EXPECT_EQ(accuracy.state().value(), 0.0);
  accuracy.update(scores(), i32_tensor({2, 1, 1, 0}));
  accuracy.update(scores().slice(0, 0, 2), i32_tensor({0, 0}));
  EXPECT_EQ(accuracy.state().sum, 4.0);
  EXPECT_EQ(accuracy.state().count, 6.0);
  EXPECT_DOUBLE_EQ(accuracy.state().value(), 4.0 / 6);
  EXPECT_EQ(accuracy.correct(), 4);
  accuracy.reset();
  EXPECT_EQ(accuracy.state().count, 0.0);
  EXPECT_EQ(accuracy.state().sum, 0.0);
}

TEST(Accuracy, TakesOneHotTargetsAndFloats) {
  Accuracy accuracy;
  accuracy.update(scores().to(DType::f32), f64_tensor({4, 3}, {0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(accuracy.correct(), 2);
}

TEST(Accuracy, AnEmptyBatchChangesNothing) {
  Accuracy accuracy;
  accuracy.update(scores().slice(0, 0, 0), i32_tensor({}));
  EXPECT_EQ(accuracy.state().count, 0.0);
}

// Keras' rule for "accuracy"; the largest of one output says nothing.
TEST(Accuracy, OfOneOutputIsThatOfYesAndNo) {
  Accuracy accuracy;
  const Tensor probabilities = f64_tensor({4, 1}, {0.9, 0.2, 0.5, 0.7});
  accuracy.update(probabilities, i32_tensor({1, 0, 1, 0}));
  EXPECT_EQ(accuracy.correct(), 2);
  accuracy.update(probabilities, f64_tensor({4, 1}, {1, 0, 0, 1}));
  EXPECT_EQ(accuracy.correct(), 6);
  EXPECT_EQ(accuracy.state().count, 8.0);
  accuracy.reset();
  EXPECT_EQ(accuracy.correct(), 0);
}

TEST(LossMetric, OfAnEmptyBatchAndOfNone) {
  LossMetric metric(std::make_unique<MeanAbsoluteError>(), "mae");
  EXPECT_EQ(metric.name(), "mae");
  EXPECT_EQ(metric.state().value(), 0.0);
  metric.update(scores().slice(0, 0, 0), scores().slice(0, 0, 0));
  EXPECT_EQ(metric.state().count, 0.0);
  metric.update(scores(), scores() /* all right */);
  EXPECT_EQ(metric.state().count, 4.0);
  EXPECT_THROW(LossMetric(nullptr), UsageError);
}

TEST(Metric, IsMadeByName) {
  EXPECT_EQ(make_metric("mae")->name(), "mae");
  EXPECT_EQ(make_metric("acc")->name(), "accuracy");
  EXPECT_EQ(make_metric("Recall")->name(), "recall");
  const ConfigDict wrapped{{"name", "mse"}, {"dtype", "float32"}, {"fn", "mean_squared_error"}};
  EXPECT_EQ(make_metric("MeanMetricWrapper", wrapped)->name(), "mse");
  EXPECT_EQ(message_of([] { make_metric("AUC"); }), "metric \"AUC\" is not supported");
  EXPECT_THROW(make_metric("cosine_similarity"), InputError);  // Keras' is the loss's negative
  // Keras writes null for what was not asked for.
  const ConfigDict nothing{{"name", ConfigValue()}, {"thresholds", ConfigValue()}, {"top_k", ConfigValue()}};
  EXPECT_EQ(make_metric("Precision", nothing)->name(), "precision");
  EXPECT_THROW(make_metric("Precision", ConfigDict{{"top_k", 3}}), InputError);
  EXPECT_THROW(make_metric("Recall", ConfigDict{{"thresholds", ConfigList{0.1, 0.9}}}), InputError);
}

TEST(Metric, ThoseWhoseNumbersKerasWouldRefuseAreNotWritten) {
  EXPECT_TRUE(make_metric("BinaryAccuracy", ConfigDict{{"threshold", 0}})->config().is_null());
  EXPECT_TRUE(Accuracy("top one").config().is_null());
}

TEST(Accuracy, RefusesWrongTargets) {
  Accuracy accuracy;
  EXPECT_EQ(message_of([&] { accuracy.update(scores(), i32_tensor({1})); }),
            "[accuracy] expects 4 labels, got 1");
  EXPECT_THROW(accuracy.update(scores(), random_tensor({4, 2})), Error);
  EXPECT_THROW(accuracy.update(random_tensor({4}), i32_tensor({0, 0, 0, 0})), Error);
}

}  // namespace
}  // namespace ronde::test
