#include <gtest/gtest.h>

#include <cmath>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

TEST(LayerNormOp, Values) {
  const Tensor x = f64_tensor({2, 2}, {1, 3, 10, 40});
  const double a = 1 / std::sqrt(1.5), b = 15 / std::sqrt(225.5);
  const LayerNormParams params{.epsilon = 0.5};
  expect_close(layer_norm(x, {}, {}, params).value(), {-a, a, -b, b}, 1e-15, "plain");
  const Tensor gamma = f64_tensor({2}, {2, 1}), beta = f64_tensor({2}, {0, 5});
  expect_close(layer_norm(x, gamma, beta, params).value(), {-2 * a, 5 + a, -2 * b, 5 + b}, 1e-14, "all");
  // Over both axes of one sample.
  const Variable image = layer_norm(f64_tensor({1, 2, 2}, {1, 3, 5, 7}), {}, {}, {.axes = 2, .epsilon = 0});
  const double s = 1 / std::sqrt(5.0);
  expect_close(image.value(), {-3 * s, -s, s, 3 * s}, 1e-15, "two axes");
}

TEST(LayerNormOp, Gradients) {
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 3, 2, 5}})
    for (int axes = 1; axes < shape.rank(); ++axes) {
      const Shape features = shape.tail(shape.rank() - axes);
      const Tensor x = random_tensor(shape, 1, -2, 2);
      const Tensor gamma = random_tensor(features, 2), beta = random_tensor(features, 3);
      const LayerNormParams params{.axes = axes, .epsilon = 0.01};
      expect_gradients([&](const Variables& v) { return layer_norm(v[0], v[1], v[2], params); },
                       {x, gamma, beta});
      expect_gradients([&](const Variables& v) { return layer_norm(v[0], v[1], {}, params); }, {x, gamma});
      expect_gradients([&](const Variables& v) { return layer_norm(v[0], {}, v[1], params); }, {x, beta});
      expect_gradients([&](const Variables& v) { return layer_norm(v[0], {}, {}, params); }, {x});
      expect_gradients([&](const Variables& v) { return layer_norm(x, v[0], {}, params); }, {gamma});
    }
}

TEST(LayerNormOp, OfAView) {
  const Tensor x = random_tensor({3, 4}, 1, -2, 2);
  const Tensor view = x.permute({1, 0}), copy = view.clone();
  EXPECT_EQ(layer_norm(view, {}, {}).value().to_vector<double>(),
            layer_norm(copy, {}, {}).value().to_vector<double>());
}

TEST(LayerNormOp, BadArguments) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  EXPECT_EQ(message_of([&] { layer_norm(x, {}, {}, {.axes = 3}); }),
            "[layer_norm] axes must be 1 to 2 for an input of shape (2, 3, 4), got 3");
  EXPECT_EQ(message_of([&] { layer_norm(x, random_tensor({3}, 1), {}); }),
            "[layer_norm] gamma must be (4,) for an input of shape (2, 3, 4), got shape (3,)");
  EXPECT_EQ(message_of([&] { layer_norm(x, {}, random_tensor({4}, 1), {.axes = 2}); }),
            "[layer_norm] beta must be (3, 4) for an input of shape (2, 3, 4), got shape (4,)");
}

TEST(LayerNormOp, OfNoSamples) {
  Variable gamma(f64_tensor({2}, {2, 1}));
  gamma.set_requires_grad(true);
  const Variable y = layer_norm(f64_tensor({0, 2}, {}), gamma, {});
  EXPECT_EQ(y.shape(), (Shape{0, 2}));
  sum(y).backward();
  expect_close(gamma.grad(), {0, 0}, 0, "of gamma");
}

}  // namespace
}  // namespace ronde::test
