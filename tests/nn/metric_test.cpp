#include <ronde/nn/metric.h>

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

TEST(Accuracy, RefusesWrongTargets) {
  Accuracy accuracy;
  EXPECT_EQ(message_of([&] { accuracy.update(scores(), i32_tensor({1})); }),
            "[accuracy] expects 4 labels, got 1");
  EXPECT_THROW(accuracy.update(scores(), random_tensor({4, 2})), Error);
  EXPECT_THROW(accuracy.update(random_tensor({4}), i32_tensor({0, 0, 0, 0})), Error);
}

}  // namespace
}  // namespace ronde::test
