#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

// -sum over classes of target * log softmax, in the plainest way.
std::vector<double> naive_cross_entropy(const Tensor& logits, const std::vector<double>& targets) {
  const std::vector<double> x = logits.to_vector<double>();
  const auto n = static_cast<std::size_t>(logits.size(0)), k = static_cast<std::size_t>(logits.size(1));
  std::vector<double> losses;
  for (std::size_t i = 0; i < n; ++i) {
    double total = 0, loss = 0;
    for (std::size_t j = 0; j < k; ++j) total += std::exp(x[i * k + j]);
    for (std::size_t j = 0; j < k; ++j) loss -= targets[i * k + j] * std::log(std::exp(x[i * k + j]) / total);
    losses.push_back(loss);
  }
  return losses;
}

TEST(SoftmaxCrossEntropy, Values) {
  const Tensor logits = random_tensor({2, 4}, 1, -3, 3);
  const Tensor labels = i32_tensor({2, 0});
  expect_close(softmax_cross_entropy(logits, labels).value(),
               naive_cross_entropy(logits, {0, 0, 1, 0, 1, 0, 0, 0}), 1e-14, "hard");
  // 0.2 of the mass is spread over the 4 classes.
  expect_close(softmax_cross_entropy(logits, labels, 0.2).value(),
               naive_cross_entropy(logits, {0.05, 0.05, 0.85, 0.05, 0.85, 0.05, 0.05, 0.05}), 1e-14,
               "smoothed");
  const Tensor targets = f64_tensor({2, 4}, {0.1, 0.2, 0.3, 0.4, 0, 0.5, 0.5, 0});
  expect_close(softmax_cross_entropy_soft(logits, targets).value(),
               naive_cross_entropy(logits, targets.to_vector<double>()), 1e-14, "soft");
}

TEST(SoftmaxCrossEntropy, SurvivesLargeLogits) {
  const Tensor logits = f64_tensor({2, 2}, {1e4, -1e4, 1e4, -1e4});
  expect_close(softmax_cross_entropy(logits, i32_tensor({0, 1})).value(), {0, 2e4}, 0, "losses");
}

// A logit of -inf masks its class: what the target does not ask for.
TEST(SoftmaxCrossEntropy, OfClassesThatAreMasked) {
  constexpr double kMasked = -std::numeric_limits<double>::infinity();
  const std::vector<double> values{1, kMasked, 2, kMasked, kMasked, 0}, one_hot{0, 0, 1, 0, 0, 1},
      spread{0.25, 0, 0.75, 0, 0, 1};
  const double p = 1 / (1 + std::exp(1.0));  // of the first class of the first row
  for (Backend* backend : {&ronde::backend("cpu"), &default_backend()}) {
    const auto tensor = [&](const std::vector<double>& numbers) {
      return Tensor::from<double>({2, 3}, numbers, backend).to(DType::f32);
    };
    Variable logits = Variable::parameter(tensor(values));
    const Variable hard = softmax_cross_entropy_soft(logits, tensor(one_hot));
    expect_close(hard.value(), {-std::log(1 - p), 0}, 1e-6, "one-hot");
    sum(hard).backward();
    expect_close(logits.grad(), {p, 0, -p, 0, 0, 0}, 1e-6, "gradient");
    expect_close(softmax_cross_entropy_soft(logits, tensor(spread)).value(),
                 {-0.25 * std::log(p) - 0.75 * std::log(1 - p), 0}, 1e-6, "a distribution");
    // One that the target does ask for costs more than any number, and what is no number is not hidden.
    const std::vector<double> wrong =
        softmax_cross_entropy_soft(logits, tensor({0, 1, 0, 0, 0, 1})).value().to_vector<double>();
    EXPECT_EQ(wrong[0], -kMasked);
    const std::vector<double> unknown =
        softmax_cross_entropy_soft(tensor({1, NAN, 2, 1, 1, 1}), tensor(one_hot)).value().to_vector<double>();
    EXPECT_TRUE(std::isnan(unknown[0]));
    EXPECT_FALSE(std::isnan(unknown[1]));
  }
}

TEST(SoftmaxCrossEntropy, Gradients) {
  for (const std::int64_t n : {0, 1, 3}) {
    const Tensor labels = i32_tensor(std::vector<std::int32_t>(static_cast<std::size_t>(n), 2));
    const Tensor logits = random_tensor({n, 4}, 1, -2, 2);
    for (const double smoothing : {0.0, 0.3})
      expect_gradients([&](const Variables& v) { return softmax_cross_entropy(v[0], labels, smoothing); },
                       {logits});
    expect_gradients([&](const Variables& v) { return softmax_cross_entropy_soft(v[0], v[1]); },
                     {logits, random_tensor({n, 4}, 2, 0, 1)});
  }
}

TEST(SoftmaxCrossEntropy, OfAView) {
  expect_gradients(
      [](const Variables& v) {
        return softmax_cross_entropy(permute(v[0], {1, 0}), i32_tensor({1, 0, 2}));
      },
      {random_tensor({4, 3})});
}

TEST(SoftmaxCrossEntropy, TakesLabelsAsArgmaxGivesThem) {
  const Tensor logits = random_tensor({3, 4}), labels = argmax(logits);
  ASSERT_EQ(labels.dtype(), DType::i64);
  expect_close(softmax_cross_entropy(logits, labels).value(),
               softmax_cross_entropy(logits, labels.to(DType::i32)).value().to_vector<double>(), 0, "losses");
  expect_gradients([&](const Variables& v) { return softmax_cross_entropy(v[0], labels); }, {logits});
  // No class, though its lower half is one.
  for (const std::int64_t far : {std::int64_t{1} << 32, -(std::int64_t{1} << 32)})
    EXPECT_THROW(softmax_cross_entropy(random_tensor({1, 4}),
                                       Tensor::from<std::int64_t>({1}, {far}, &logits.backend())),
                 Error);
}

TEST(SoftmaxCrossEntropy, SaysWhatDoesNotFit) {
  const Tensor logits = random_tensor({2, 4});
  EXPECT_EQ(message_of([&] {
              softmax_cross_entropy(logits, i32_tensor({1, 2, 3}));
            }),
            "[softmax_cross_entropy] labels must be i32 or i64 (2,), got i32 (3,)");
  EXPECT_EQ(message_of([&] { softmax_cross_entropy(logits, logits); }),
            "[softmax_cross_entropy] labels must be i32 or i64 (2,), got f64 (2, 4)");
  EXPECT_EQ(message_of([&] {
              softmax_cross_entropy(logits, i32_tensor({1, 2}), 1.5);
            }),
            "[softmax_cross_entropy] label smoothing must be in [0, 1], got 1.5");
  EXPECT_EQ(message_of([&] {
              softmax_cross_entropy_soft(logits, random_tensor({2, 3}));
            }),
            "[softmax_cross_entropy] targets must be (2, 4), got shape (2, 3)");
}

TEST(SquaredError, Values) {
  const Tensor a = f64_tensor({2, 2}, {1, 2, 3, 4}), b = f64_tensor({2, 2}, {1, 4, 0, 3});
  expect_close(squared_error(a, b).value(), {2, 5}, 0, "mean per row");
  expect_close(squared_error(f64_tensor({2}, {1, 2}), f64_tensor({2}, {3, 5})).value(), {4, 9}, 0, "rank 1");
}

TEST(SquaredError, Gradients) {
  for (const Shape& shape : {Shape{3}, Shape{2, 3}, Shape{2, 3, 2}, Shape{0, 3}})
    expect_gradients([](const Variables& v) { return squared_error(v[0], v[1]); },
                     {random_tensor(shape, 1), random_tensor(shape, 2)});
}

TEST(SquaredError, DoesNotBroadcast) {
  EXPECT_EQ(message_of([] {
              squared_error(random_tensor({3, 1}), random_tensor({3}));
            }),
            "[squared_error] prediction and target must be (n, ...) alike, got (3, 1) and (3,)");
}

}  // namespace
}  // namespace ronde::test
