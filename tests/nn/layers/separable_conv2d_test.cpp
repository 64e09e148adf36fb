#include <ronde/nn/separable_conv2d.h>

#include <ronde/nn/weight_layout.h>

#include "nn/layers/naive_conv.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

/// Both convolutions written out; no bias, no activation.
Tensor naive(const SeparableConv2D& layer, const Tensor& x, NaiveConv depthwise) {
  const Tensor first = to_keras_layout(find_parameter(layer, "depthwise_kernel"));
  const Tensor grouped = first.reshape({first.size(0), first.size(1), 1, first.size(2) * first.size(3)});
  depthwise.groups = first.size(2);
  return naive_conv(naive_conv(x, grouped, depthwise),
                    to_keras_layout(find_parameter(layer, "pointwise_kernel")), {});
}

TEST(SeparableConv2D, MatchesNaiveConvolutionsAndTheirGradients) {
  SeparableConv2D layer(
      {.filters = 4, .kernel = {3, 2}, .strides = {2, 1}, .padding = Padding::same, .depth_multiplier = 2});
  layer.build({5, 4, 3}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({2, 5, 4, 3}, 3);
  const Variable expected =
      naive(layer, x, {.stride = {2, 1}, .padding = Padding::same}) + find_parameter(layer, "bias").variable;
  expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-12, "output");
  expect_module_gradients(layer, x);
}

TEST(SeparableConv2D, HasKerasWeightsInKerasOrder) {
  SeparableConv2D layer({.filters = 5, .kernel = {3, 2}, .depth_multiplier = 2});
  layer.build({4, 4, 3});
  const std::vector<Parameter> weights = layer.parameters();
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].name, "depthwise_kernel");
  EXPECT_EQ(keras_shape(weights[0]), (Shape{3, 2, 3, 2}));
  EXPECT_EQ(weights[1].name, "pointwise_kernel");
  EXPECT_EQ(keras_shape(weights[1]), (Shape{1, 1, 6, 5}));
  EXPECT_EQ(weights[2].name, "bias");
  EXPECT_EQ(layer.output_shape(), (Shape{1, 2, 3, 5}));
}

TEST(SeparableConv2D, AppliesItsActivation) {
  for (const Activation::Kind kind : {Activation::relu, Activation::tanh}) {
    SeparableConv2D layer({.filters = 2, .dilation = {2, 1}, .activation = kind, .use_bias = false});
    layer.build({7, 5, 2}, in_f64());
    randomize(layer);
    const Tensor x = random_tensor({1, 7, 5, 2});
    const Variable expected = apply_activation(kind, naive(layer, x, {.dilation = {2, 1}}));
    expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-12, to_string(kind));
  }
}

TEST(SeparableConv2D, NamesItselfInErrors) {
  EXPECT_EQ(message_of([] { SeparableConv2D none({.filters = 0, .name = "s"}); }),
            "[s] filters must be positive, got 0");
  EXPECT_EQ(message_of([] { SeparableConv2D none({.filters = 1, .depth_multiplier = 0}); }),
            "[separable_conv2d] depth_multiplier must be positive, got 0");
  SeparableConv2D layer({.filters = 2});
  layer.build({5, 5, 3});
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 5, 5, 4}));
            }),
            "[separable_conv2d] expects 3 input channels, got 4");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 2, 5, 3}));
            }),
            "[separable_conv2d] a window of 3 x 3 does not fit into images of 2 x 5");
}

}  // namespace
}  // namespace ronde::test
