#include <gtest/gtest.h>

#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(Softmax, Values) {
  const double e = std::exp(1.0);
  const Tensor x = f64_tensor({2, 2}, {0, 1, 1000, 1000});
  expect_close(softmax(x).value(), {1 / (1 + e), e / (1 + e), 0.5, 0.5}, 1e-12, "softmax");
  expect_close(log_softmax(x).value(),
               {-std::log(1 + e), 1 - std::log(1 + e), -std::log(2.0), -std::log(2.0)}, 1e-12, "log_softmax");
}

TEST(Softmax, Gradients) {
  for (const Shape& shape : {Shape{5}, Shape{3, 4}, Shape{2, 3, 4}, Shape{3, 1}, Shape{0, 4}}) {
    const std::vector<Tensor> x{random_tensor(shape, 1, -3, 3)};
    expect_gradients([](const Variables& v) { return softmax(v[0]); }, x);
    expect_gradients([](const Variables& v) { return log_softmax(v[0]); }, x);
  }
  expect_gradients(
      [](const Variables& v) {
        return softmax(permute(v[0], {1, 0})) * log_softmax(v[0]);
      },
      {random_tensor({3, 3})});
}

TEST(SoftmaxInput, IsTheLogitsOfADirectResultOnly) {
  const Variable x = Variable::parameter(random_tensor({2, 3}));
  const Variable y = softmax(x);
  EXPECT_TRUE(softmax_input(y).same_as(x));
  EXPECT_FALSE(softmax_input(y * 1.0).defined());
  EXPECT_FALSE(softmax_input(y.detach()).defined());
  EXPECT_FALSE(softmax_input(log_softmax(x)).defined());
  EXPECT_FALSE(softmax_input(Variable()).defined());
}

// A loss of steps works on logits, too.
TEST(StepsAsBatch, IsOneBatchOfAllSteps) {
  const Variable x = Variable::parameter(random_tensor({2, 3, 4}));
  const Variable steps = steps_as_batch(x), probabilities = steps_as_batch(softmax(x));
  EXPECT_EQ(steps.shape(), (Shape{6, 4}));
  EXPECT_FALSE(softmax_input(steps).defined());
  EXPECT_EQ(softmax_input(probabilities).value().to_vector<double>(), x.value().to_vector<double>());
  EXPECT_EQ(softmax_input(probabilities).shape(), probabilities.shape());
  EXPECT_FALSE(sigmoid_input(probabilities).defined());
  EXPECT_EQ(sigmoid_input(steps_as_batch(sigmoid(x))).shape(), steps.shape());
  EXPECT_TRUE(softmax_input(probabilities).requires_grad());
  expect_gradients(
      [](const Variables& v) {
        const Variable p = steps_as_batch(softmax(v[0]));
        return p * square(softmax_input(p));
      },
      {random_tensor({2, 3, 4})});
  EXPECT_EQ(message_of([] {
              steps_as_batch(random_tensor({2, 3}));
            }),
            "[steps_as_batch] input must be (n, steps, ...) with at least 3 axes, got shape (2, 3)");
}

TEST(SigmoidInput, IsTheLogitsOfADirectResultOnly) {
  const Variable x = Variable::parameter(random_tensor({2, 3}));
  const Variable y = sigmoid(x);
  EXPECT_TRUE(sigmoid_input(y).same_as(x));
  EXPECT_FALSE(softmax_input(y).defined());
  EXPECT_FALSE(sigmoid_input(softmax(x)).defined());
  EXPECT_FALSE(sigmoid_input(y * 1.0).defined());
  EXPECT_FALSE(sigmoid_input(Variable()).defined());
}

TEST(SoftmaxInput, IsRememberedWhileNothingIsRecorded) {
  const NoGrad no_grad;
  const Variable x(random_tensor({2, 3}));
  const Variable y = softmax(x);
  EXPECT_TRUE(softmax_input(y).same_as(x));
}

TEST(SoftmaxInput, MakesNoCycle) {
  std::weak_ptr<Node> logits_node;
  {
    const Variable x = Variable::parameter(random_tensor({2, 3})) * 2.0;
    logits_node = x.node();
    const Variable y = softmax(x);
    EXPECT_FALSE(logits_node.expired());
  }
  EXPECT_TRUE(logits_node.expired());
}

}  // namespace
}  // namespace ronde::test
