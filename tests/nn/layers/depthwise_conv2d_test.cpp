#include <ronde/nn/depthwise_conv2d.h>

#include <ronde/nn/weight_layout.h>

#include "nn/layers/naive_conv.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

/// The kernel of a grouped convolution in Keras' layout that does the same: (kh, kw, 1, c * multiplier).
Tensor grouped(const Tensor& depthwise) {
  return depthwise.reshape({depthwise.size(0), depthwise.size(1), 1, depthwise.size(2) * depthwise.size(3)});
}

TEST(DepthwiseConv2D, MatchesNaiveConvolutionAndItsGradients) {
  for (const std::int64_t multiplier : {1, 2}) {
    DepthwiseConv2D layer({.kernel = {3, 2}, .padding = Padding::same, .depth_multiplier = multiplier});
    layer.build({5, 4, 3}, in_f64());
    randomize(layer);
    const Tensor x = random_tensor({2, 5, 4, 3}, 3);
    const Tensor kernel = to_keras_layout(find_parameter(layer, "depthwise_kernel"));
    ASSERT_EQ(kernel.shape(), (Shape{3, 2, 3, multiplier}));
    const Variable expected = naive_conv(x, grouped(kernel), {.padding = Padding::same, .groups = 3}) +
                              find_parameter(layer, "bias").variable;
    expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-12, "output");
    expect_module_gradients(layer, x);
  }
}

TEST(DepthwiseConv2D, FusesRelu) {
  DepthwiseConv2D layer({.strides = {2, 2}, .activation = Activation::relu, .use_bias = false});
  layer.build({7, 7, 2}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({1, 7, 7, 2});
  const Tensor kernel = grouped(to_keras_layout(find_parameter(layer, "depthwise_kernel")));
  const Variable expected = relu(naive_conv(x, kernel, {.stride = {2, 2}, .groups = 2}));
  expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-12, "output");
  EXPECT_EQ(layer.parameter_count(), 2 * 9);
}

TEST(DepthwiseConv2D, NamesItselfInErrors) {
  DepthwiseConv2D layer;
  layer.build({5, 5, 3});
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 5, 5, 4}));
            }),
            "[depthwise_conv2d] expects 3 input channels, got 4");
}

}  // namespace
}  // namespace ronde::test
