#include <algorithm>
#include <cmath>
#include <functional>

#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/elu.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/reshape.h>
#include <ronde/nn/softmax.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

double sigmoid_of(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

TEST(Activation, MatchesKerasFormulas) {
  struct Case {
    Activation::Kind kind;
    std::function<double(double)> f;
  };
  const Case cases[] = {
      {Activation::linear, [](double x) { return x; }},
      {Activation::relu, [](double x) { return x > 0 ? x : 0; }},
      {Activation::leaky_relu, [](double x) { return x > 0 ? x : 0.2 * x; }},
      {Activation::elu, [](double x) { return x > 0 ? x : std::exp(x) - 1; }},
      {Activation::gelu, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {Activation::silu, [](double x) { return x * sigmoid_of(x); }},
      {Activation::sigmoid, sigmoid_of},
      {Activation::tanh, [](double x) { return std::tanh(x); }},
      {Activation::softplus, [](double x) { return std::log(1 + std::exp(x)); }},
      {Activation::softsign, [](double x) { return x / (1 + std::abs(x)); }},
      {Activation::selu,
       [](double x) { return 1.05070098735548 * (x > 0 ? x : 1.67326324235438 * (std::exp(x) - 1)); }},
      {Activation::exponential, [](double x) { return std::exp(x); }},
      {Activation::mish, [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }},
  };
  const Tensor x = random_tensor({4, 7}, 1, -3.0, 3.0);
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.kind));
    std::vector<double> expected = x.to_vector<double>();
    for (double& value : expected) value = c.f(value);
    Activation layer(c.kind);
    expect_close(layer(x).value(), expected, 1e-14, "output");
    expect_module_gradients(layer, x);
  }
}

// Their values are Keras' own: keras_layers_test.cpp. Both bounds are within these numbers.
TEST(Activation, GradientsOfBoundedFunctions) {
  const Tensor x = random_tensor({6, 9}, 1, -5.0, 8.0);
  for (const Activation::Kind kind : {Activation::relu6, Activation::hard_sigmoid, Activation::hard_silu}) {
    Activation layer(kind);
    expect_module_gradients(layer, x);
  }
}

TEST(Activation, SoftmaxIsOverTheLastAxis) {
  const Tensor x = random_tensor({2, 3, 4}, 1, -3.0, 3.0);
  std::vector<double> expected = x.to_vector<double>(), logs;
  for (std::size_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += std::exp(expected[row * 4 + i]);
    for (std::size_t i = 0; i < 4; ++i) {
      logs.push_back(expected[row * 4 + i] - std::log(sum));
      expected[row * 4 + i] = std::exp(expected[row * 4 + i]) / sum;
    }
  }
  Activation softmax(Activation::softmax), log_softmax(Activation::log_softmax);
  expect_close(softmax(x).value(), expected, 1e-14, "softmax");
  expect_close(log_softmax(x).value(), logs, 1e-14, "log_softmax");
  expect_module_gradients(softmax, x);
  expect_module_gradients(log_softmax, x);
}

TEST(ReLU, IsBoundedAndLeaksAsAsked) {
  const Tensor x = random_tensor({4, 7}, 2, -3.0, 3.0);
  const auto expect = [&](Module&& layer, const std::function<double(double)>& f) {
    std::vector<double> expected = x.to_vector<double>();
    for (double& value : expected) value = f(value);
    expect_close(layer(x).value(), expected, 1e-14, layer.class_name());
    expect_module_gradients(layer, x);
  };
  expect(ReLU(), [](double v) { return std::max(v, 0.0); });
  expect(ReLU({.max_value = 1.5}), [](double v) { return std::clamp(v, 0.0, 1.5); });
  expect(ReLU({.negative_slope = 0.25}), [](double v) { return v > 0 ? v : 0.25 * v; });
  expect(ReLU({.max_value = 1.5, .negative_slope = 0.25}),
         [](double v) { return std::min(v > 0 ? v : 0.25 * v, 1.5); });
  expect(LeakyReLU(), [](double v) { return v > 0 ? v : 0.3 * v; });
  expect(LeakyReLU(0.125), [](double v) { return v > 0 ? v : 0.125 * v; });
  expect(ELU(), [](double v) { return v > 0 ? v : std::exp(v) - 1; });
  expect(ELU(0.25), [](double v) { return v > 0 ? v : 0.25 * (std::exp(v) - 1); });
  EXPECT_THROW(ReLU({.max_value = -1.0}), UsageError);
  EXPECT_THROW(LeakyReLU(-0.5), UsageError);
}

TEST(PReLU, MultipliesWhatIsBelowZeroByItsWeights) {
  const Tensor x = random_tensor({2, 3, 2, 4}, 3, -3.0, 3.0);
  const std::pair<std::vector<std::int64_t>, Shape> cases[] = {
      {{}, {3, 2, 4}}, {{1}, {1, 2, 4}}, {{1, 2}, {1, 1, 4}}, {{3, 1}, {1, 2, 1}}, {{1, 2, 3}, {1, 1, 1}}};
  for (const auto& [shared, alphas] : cases) {
    PReLU layer({.shared_axes = shared});
    layer.build({3, 2, 4}, in_f64());
    const Variable alpha = find_parameter(layer, "alpha").variable;
    EXPECT_EQ(alpha.shape(), alphas);
    EXPECT_EQ(layer(x).value().to_vector<double>(), relu(Variable(x)).value().to_vector<double>());
    randomize(layer);
    const std::vector<double> slopes = alpha.value().broadcast_to(x.shape()).to_vector<double>();
    std::vector<double> expected = x.to_vector<double>();
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= expected[i] > 0 ? 1 : slopes[i];
    expect_close(layer(x).value(), expected, 1e-14, to_string(alphas));
    expect_module_gradients(layer, x);
  }
}

// As in Keras.
TEST(PReLU, OfZeroHasNoGradient) {
  PReLU layer({.alpha_initializer = Initializer::constant(0.5)});
  layer.build({1}, in_f64());
  const Variable x = Variable::parameter(f64_tensor({1, 1}, {0}));
  sum(layer(x)).backward();
  EXPECT_EQ(x.grad().item(), 0.0);
}

TEST(PReLU, KnowsItsInputs) {
  PReLU layer({.shared_axes = {1}, .name = "slopes"});
  layer.build({5, 4});
  EXPECT_EQ(layer(Tensor::zeros({0, 7, 4})).shape(), (Shape{0, 7, 4}));
  for (const Shape& shape : {Shape{2, 5, 3}, Shape{2, 4}, Shape{2, 5, 1}})
    EXPECT_EQ(message_of([&] { layer(Tensor::zeros(shape)); }),
              cat("[slopes] has weights (1, 4), which do not fit inputs ", shape));
  for (const std::int64_t axis : {-1, 0, 3})
    EXPECT_EQ(message_of([&] {
                PReLU({.shared_axes = {axis}}).build({5, 4});
              }),
              cat("[p_re_lu] shared_axes: inputs (1, 5, 4) have no axis ", axis, " behind the batch"));
}

TEST(Softmax, IsTheFunction) {
  const Tensor x = random_tensor({3, 4}, 3, -2.0, 2.0);
  Softmax layer;
  Activation function(Activation::softmax);
  EXPECT_EQ(layer(x).value().to_vector<double>(), function(x).value().to_vector<double>());
}

TEST(Flatten, KeepsTheBatchAndTheOrder) {
  Flatten layer;
  const Tensor x = random_tensor({2, 3, 4, 5});
  EXPECT_EQ(layer(x).shape(), (Shape{2, 60}));
  EXPECT_EQ(layer(x).value().to_vector<double>(), x.to_vector<double>());
  EXPECT_EQ(layer(Tensor::zeros({0, 3, 4})).shape(), (Shape{0, 12}));
  EXPECT_EQ(layer(Tensor::zeros({3})).shape(), (Shape{3, 1}));
  expect_module_gradients(layer, x);
}

TEST(Reshape, KeepsTheBatchAndTheOrder) {
  const Tensor x = random_tensor({2, 3, 4, 5});
  const auto expect = [&](const Shape& target, const Shape& expected) {
    Reshape layer({.target_shape = target});
    EXPECT_EQ(layer(x).shape(), expected);
    EXPECT_EQ(layer(x).value().to_vector<double>(), x.to_vector<double>());
    expect_module_gradients(layer, x);
  };
  expect({60}, {2, 60});
  expect({-1}, {2, 60});
  expect({5, 2, 6}, {2, 5, 2, 6});
  expect({4, -1, 3}, {2, 4, 5, 3});
  Reshape layer({.target_shape = {-1, 6}, .name = "rows"});
  EXPECT_EQ(layer(Tensor::zeros({0, 3, 4})).shape(), (Shape{0, 2, 6}));
  EXPECT_EQ(Reshape({.target_shape = {}})(Tensor::zeros({3, 1})).shape(), Shape{3});
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({2, 5}));
            }),
            "[rows] cannot make (-1, 6) of inputs of shape (5,)");
  EXPECT_THROW(layer(Tensor::zeros({})), Error);
  for (const Shape& target : {Shape{0, 2}, Shape{-1, -1}, Shape{-2}})
    EXPECT_THROW(Reshape({.target_shape = target}), UsageError) << to_string(target);
}

}  // namespace
}  // namespace ronde::test
