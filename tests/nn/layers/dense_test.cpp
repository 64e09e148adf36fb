#include <ronde/nn/dense.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

/// x * kernel + bias over the last axis, before the activation.
std::vector<double> affine(const Dense& layer, const Tensor& input) {
  const std::vector<double> x = input.to_vector<double>();
  const std::vector<double> k = find_parameter(layer, "kernel").variable.value().to_vector<double>();
  const std::vector<double> b = find_parameter(layer, "bias").variable.value().to_vector<double>();
  const std::size_t units = b.size(), in = k.size() / units;
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size() / in; ++row)
    for (std::size_t u = 0; u < units; ++u) {
      y.push_back(b[u]);
      for (std::size_t i = 0; i < in; ++i) y.back() += x[row * in + i] * k[i * units + u];
    }
  return y;
}

TEST(Dense, MatchesNaiveProductAndItsGradients) {
  for (const Shape& shape : {Shape{5, 4}, Shape{2, 3, 4}}) {
    Dense layer({.units = 3});
    layer.build(shape.tail(1), in_f64());
    randomize(layer);
    const Tensor x = random_tensor(shape, 3);
    Shape expected = shape;
    expected[-1] = 3;
    EXPECT_EQ(layer(x).shape(), expected);
    expect_close(layer(x).value(), affine(layer, x), 1e-13, "output");
    expect_module_gradients(layer, x);
  }
}

TEST(Dense, AppliesItsActivation) {
  for (const Activation::Kind kind : {Activation::relu, Activation::sigmoid, Activation::softmax}) {
    Dense layer({.units = 3, .activation = kind});
    layer.build({4}, in_f64());
    randomize(layer);
    const Tensor x = random_tensor({5, 4}, 3);
    const Variable expected = apply_activation(kind, f64_tensor({5, 3}, affine(layer, x)));
    expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-13, to_string(kind));
    expect_module_gradients(layer, x);
  }
}

TEST(Dense, BiasIsOptional) {
  Dense layer({.units = 3, .use_bias = false});
  layer.build({4});
  EXPECT_EQ(layer.parameter_count(), 12);
  EXPECT_EQ(layer.parameters().size(), 1u);
}

TEST(Dense, StartsWithZeroBiasByDefault) {
  Dense layer(
      {.units = 3, .kernel_initializer = Initializer::ones, .bias_initializer = Initializer::constant(2)});
  layer.build({4}, in_f64());
  EXPECT_EQ(layer(Tensor::full({1, 4}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")}))
                .value()
                .to_vector<double>(),
            (std::vector<double>{6, 6, 6}));
  Dense plain({.units = 3});
  plain.build({4}, in_f64());
  EXPECT_EQ(find_parameter(plain, "bias").variable.value().to_vector<double>(),
            (std::vector<double>{0, 0, 0}));
}

TEST(Dense, EmptyBatchGivesEmptyOutput) {
  Dense layer({.units = 3});
  layer.build({4});
  EXPECT_EQ(layer(Tensor::zeros({0, 4})).shape(), (Shape{0, 3}));
}

TEST(Dense, NamesItselfInErrors) {
  EXPECT_THROW(Dense(DenseOptions{}), UsageError);
  Dense layer({.units = 3, .name = "head"});
  EXPECT_EQ(message_of([&] { layer.build(Shape{}); }),
            "[head] expects inputs of shape (n, ..., inputs), got (1,)");
  layer.build({4});
  EXPECT_EQ(message_of([&] { layer(Tensor::zeros({2, 5})); }), "[head] expects 4 inputs, got 5");
}

}  // namespace
}  // namespace ronde::test
