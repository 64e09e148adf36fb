#include <ronde/nn/conv2d.h>

#include <ronde/nn/weight_layout.h>

#include "nn/layers/naive_conv.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

/// What Keras computes with the layer's weights as a file would hold them.
std::vector<double> reference(const Conv2D& layer, const Tensor& x, NaiveConv how,
                              Activation::Kind activation, bool use_bias) {
  Variable y = naive_conv(x, to_keras_layout(find_parameter(layer, "kernel")), how);
  if (use_bias) y = y + find_parameter(layer, "bias").variable;
  return apply_activation(activation, y).value().to_vector<double>();
}

struct ConvCase {
  Size2d kernel, strides;
  Padding padding;
  Size2d dilation;
  std::int64_t groups;
  Activation::Kind activation;
  bool use_bias;
};

TEST(Conv2D, MatchesNaiveConvolutionAndItsGradients) {
  const ConvCase cases[] = {
      {{3, 3}, {1, 1}, Padding::valid, {1, 1}, 1, Activation::linear, true},
      {{3, 2}, {2, 1}, Padding::same, {1, 1}, 1, Activation::relu, true},
      {{2, 3}, {1, 1}, Padding::same, {2, 1}, 1, Activation::tanh, false},
      {{1, 1}, {1, 2}, Padding::valid, {1, 1}, 2, Activation::relu, false},
      {{3, 3}, {1, 1}, Padding::same, {1, 1}, 2, Activation::linear, true},
  };
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(&c - cases);
    Conv2D layer({.filters = 4,
                  .kernel = c.kernel,
                  .strides = c.strides,
                  .padding = c.padding,
                  .dilation = c.dilation,
                  .groups = c.groups,
                  .activation = c.activation,
                  .use_bias = c.use_bias});
    layer.build({6, 5, 2}, in_f64());
    randomize(layer);
    const Tensor x = random_tensor({2, 6, 5, 2}, 3);
    const NaiveConv how{c.strides, c.padding, c.dilation, c.groups};
    expect_close(layer(x).value(), reference(layer, x, how, c.activation, c.use_bias), 1e-12, "output");
    expect_module_gradients(layer, x);
  }
}

TEST(Conv2D, HasKerasWeights) {
  Conv2D layer({.filters = 8, .kernel = {3, 5}});
  layer.build({9, 9, 2});
  const std::vector<Parameter> parameters = layer.parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "kernel");
  EXPECT_EQ(parameters[0].variable.shape(), (Shape{8, 3, 5, 2}));
  EXPECT_EQ(keras_shape(parameters[0]), (Shape{3, 5, 2, 8}));
  EXPECT_EQ(parameters[1].name, "bias");
  EXPECT_EQ(parameters[1].variable.shape(), (Shape{8}));
}

TEST(Conv2D, NamesItselfInErrors) {
  Conv2D layer({.filters = 2, .name = "stem"});
  layer.build({5, 5, 3});
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 5, 5, 1}));
            }),
            "[stem] expects 3 input channels, got 1");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({4, 7}));
            }),
            "[stem] expects images (n, h, w, c), got (4, 7)");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 512, 1}));
            }),
            "[stem] expects images (n, h, w, c), got (1, 512, 1); sequences (n, steps, c) have layers of "
            "their own, as Conv1D");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 2, 5, 3}));
            }),
            "[stem] a window of 3 x 3 does not fit into images of 2 x 5");
}

TEST(Conv2D, RefusesSenselessOptions) {
  EXPECT_THROW(Conv2D(Conv2DOptions{}), UsageError);
  EXPECT_THROW(Conv2D({.filters = 3, .groups = 2}), UsageError);
  EXPECT_THROW(Conv2D({.filters = 3, .strides = {0, 1}}), UsageError);
  // With a kernel of 5 it would cover 4 * 2^62 + 1 rows, which are 1 in 64 bits.
  EXPECT_EQ(
      message_of([] {
        Conv2D({.filters = 3, .kernel = {5, 1}, .dilation = {std::int64_t{1} << 62, 1}, .name = "stem"});
      }),
      "[stem] dilation must be in 1 ... 2147483647, got 4611686018427387904 x 1");
  Conv2D layer({.filters = 4, .groups = 2});
  EXPECT_EQ(message_of([&] {
              layer.build({5, 5, 3});
            }),
            "[conv2d] 3 input channels cannot be split into 2 groups");
}

}  // namespace
}  // namespace ronde::test
