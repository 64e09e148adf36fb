// Layers of sequences; what Keras makes of the same numbers: keras_layers_test.cpp.
#include <ronde/nn/average_pooling1d.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/conv1d_transpose.h>
#include <ronde/nn/cropping1d.h>
#include <ronde/nn/depthwise_conv1d.h>
#include <ronde/nn/global_max_pooling1d.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/max_pooling1d.h>
#include <ronde/nn/separable_conv1d.h>
#include <ronde/nn/up_sampling1d.h>
#include <ronde/nn/weight_layout.h>
#include <ronde/nn/zero_padding1d.h>

#include "nn/layers/naive_conv.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

/// Zeros in front of the steps, written out.
Tensor behind_zeros(const Tensor& x, std::int64_t zeros) {
  const std::int64_t n = x.size(0), steps = x.size(1), c = x.size(2);
  const std::vector<double> values = x.to_vector<double>();
  std::vector<double> padded;
  for (std::int64_t b = 0; b < n; ++b) {
    padded.insert(padded.end(), static_cast<std::size_t>(zeros * c), 0.0);
    const auto row = values.begin() + b * steps * c;
    padded.insert(padded.end(), row, row + steps * c);
  }
  return f64_tensor({n, 1, zeros + steps, c}, padded);
}

/// What Keras computes with the layer's weights as a file would hold them.
Tensor reference(const Conv1D& layer, const Tensor& x) {
  const Conv1DOptions& o = layer.options();
  const std::int64_t front = o.padding == Padding1D::causal ? (o.kernel - 1) * o.dilation : 0;
  const Tensor kernel = to_keras_layout(find_parameter(layer, "kernel"));
  const Shape image{1, kernel.size(0), kernel.size(1), kernel.size(2)};
  Variable y = naive_conv(behind_zeros(x, front), kernel.reshape(image),
                          {.stride = {1, o.strides},
                           .padding = o.padding == Padding1D::same ? Padding::same : Padding::valid,
                           .dilation = {1, o.dilation},
                           .groups = o.groups});
  if (o.use_bias) y = y + find_parameter(layer, "bias").variable;
  return apply_activation(o.activation, y).value();
}

TEST(Conv1D, MatchesNaiveConvolutionAndItsGradients) {
  const Conv1DOptions cases[] = {
      {.filters = 4, .kernel = 3},
      {.filters = 4, .kernel = 4, .strides = 2, .padding = Padding1D::same, .activation = Activation::relu},
      {.filters = 2, .kernel = 3, .padding = Padding1D::causal, .dilation = 2, .use_bias = false},
      {.filters = 6, .kernel = 2, .padding = Padding1D::causal, .groups = 2, .activation = Activation::tanh},
      {.filters = 4, .kernel = 5, .strides = 3, .padding = Padding1D::causal},
      {.filters = 4, .kernel = 1, .groups = 4},
  };
  for (const Conv1DOptions& options : cases) {
    SCOPED_TRACE(&options - cases);
    Conv1D layer(options);
    layer.build({9, 4}, in_f64());
    randomize(layer);
    const Tensor x = random_tensor({2, 9, 4}, 3);
    const Tensor expected = reference(layer, x);
    ASSERT_EQ(layer(x).shape(), (Shape{2, expected.size(2), options.filters}));
    expect_close(layer(x).value(), expected.to_vector<double>(), 1e-12, "output");
    expect_module_gradients(layer, x);
  }
}

/// The first convolution of a layer with a depthwise kernel, (n, 1, steps, c * multiplier).
Tensor depthwise_reference(const Module& layer, const Tensor& x, NaiveConv options) {
  const Tensor kernel = to_keras_layout(find_parameter(layer, "depthwise_kernel"));  // (k, c, multiplier)
  options.groups = kernel.size(1);
  return naive_conv(behind_zeros(x, 0),
                    kernel.reshape({1, kernel.size(0), 1, kernel.size(1) * kernel.size(2)}), options);
}

TEST(DepthwiseConv1D, MatchesNaiveConvolutionAndItsGradients) {
  const DepthwiseConv1DOptions cases[] = {
      {.kernel = 3, .depth_multiplier = 2},
      {.kernel = 4, .strides = 2, .padding = Padding::same, .activation = Activation::relu},
      {.kernel = 2, .dilation = 3, .activation = Activation::tanh, .use_bias = false},
  };
  for (const DepthwiseConv1DOptions& options : cases) {
    SCOPED_TRACE(&options - cases);
    DepthwiseConv1D layer(options);
    layer.build({9, 3}, in_f64());
    randomize(layer);
    const Tensor x = random_tensor({2, 9, 3}, 3);
    Variable expected = depthwise_reference(
        layer, x,
        {.stride = {1, options.strides}, .padding = options.padding, .dilation = {1, options.dilation}});
    if (options.use_bias) expected = expected + find_parameter(layer, "bias").variable;
    expected = apply_activation(options.activation, expected);
    ASSERT_EQ(layer(x).shape(), (Shape{2, expected.size(2), 3 * options.depth_multiplier}));
    expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-12, "output");
    expect_module_gradients(layer, x);
  }
}

TEST(SeparableConv1D, MatchesNaiveConvolutionsAndTheirGradients) {
  SeparableConv1D layer(
      {.filters = 4, .kernel = 4, .strides = 2, .padding = Padding1D::same, .depth_multiplier = 2});
  layer.build({9, 3}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({2, 9, 3}, 3);
  const Tensor pointwise = to_keras_layout(find_parameter(layer, "pointwise_kernel"));
  const Variable expected =
      naive_conv(depthwise_reference(layer, x, {.stride = {1, 2}, .padding = Padding::same}),
                 pointwise.reshape({1, 1, 6, 4}), {}) +
      find_parameter(layer, "bias").variable;
  expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-12, "output");
  expect_module_gradients(layer, x);
}

TEST(SeparableConv1D, HasKerasWeightsInKerasOrder) {
  SeparableConv1D layer({.filters = 5, .kernel = 4, .depth_multiplier = 2});
  layer.build({9, 3});
  std::string weights;
  for (const Parameter& weight : layer.parameters())
    weights += cat(weight.name, ' ', weight.variable.shape(), ' ', keras_shape(weight), ' ');
  EXPECT_EQ(
      weights,
      "depthwise_kernel (6, 1, 4, 1) (4, 3, 2) pointwise_kernel (5, 1, 1, 6) (1, 6, 5) bias (5,) (5,) ");
}

TEST(Conv1D, HasKerasWeights) {
  Conv1D layer({.filters = 8, .kernel = 5});
  layer.build({9, 2});
  const std::vector<Parameter> parameters = layer.parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "kernel");
  EXPECT_EQ(parameters[0].variable.shape(), (Shape{8, 1, 5, 2}));
  EXPECT_EQ(keras_shape(parameters[0]), (Shape{5, 2, 8}));
  EXPECT_EQ(parameters[1].variable.shape(), (Shape{8}));
}

TEST(Conv1D, KnowsNoLaterStepIfItIsCausal) {
  Conv1D layer({.filters = 3, .kernel = 3, .padding = Padding1D::causal, .dilation = 2});
  layer.build({8, 2}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({1, 8, 2}, 3);
  Tensor later = x.clone();
  later.data<double>()[5 * 2] += 1.0;  // step 5
  const std::vector<double> before = layer(x).value().to_vector<double>();
  const std::vector<double> after = layer(later).value().to_vector<double>();
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i] == after[i], i / 3 != 5 && i / 3 != 7) << "step " << i / 3;
}

TEST(Series, LayersTakeNoSamplesToo) {
  const Tensor none = Tensor::zeros({0, 6, 2});
  Conv1D convolution({.filters = 3});
  convolution.build({6, 2});
  EXPECT_EQ(convolution(none).shape(), (Shape{0, 4, 3}));
  EXPECT_EQ(MaxPooling1D()(none).shape(), (Shape{0, 3, 2}));
  EXPECT_EQ(UpSampling1D()(none).shape(), (Shape{0, 12, 2}));
  EXPECT_EQ(Cropping1D()(none).shape(), (Shape{0, 4, 2}));
}

TEST(Series, LayersNameThemselvesInErrors) {
  Conv1D layer({.filters = 2, .name = "stem"});
  layer.build({5, 3});
  EXPECT_EQ(message_of([&] { layer(Tensor::zeros({1, 5, 1})); }), "[stem] expects 3 input channels, got 1");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 5, 5, 3}));
            }),
            "[stem] expects sequences (n, steps, features), got (1, 5, 5, 3)");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 2, 3}));
            }),
            "[stem] a window of 3 does not fit into sequences of 2");
  EXPECT_EQ(message_of([&] {
              MaxPooling1D({.pool = 3})(Tensor::zeros({1, 2, 3}));
            }),
            "[max_pooling1d] a window of 3 does not fit into sequences of 2");
  EXPECT_EQ(message_of([&] {
              Cropping1D({.front = 2, .back = 3})(Tensor::zeros({1, 5, 3}));
            }),
            "[cropping1d] 2 + 3 steps leave nothing of sequences of 5");
  EXPECT_EQ(message_of([] { Conv1D({}); }), "[conv1d] filters must be positive, got 0");
  EXPECT_EQ(message_of([] { Conv1D({.filters = 4, .groups = 3}); }),
            "[conv1d] 4 filters cannot be split into 3 groups");
  EXPECT_EQ(message_of([] { Conv1D({.filters = 1, .strides = 0}); }),
            "[conv1d] strides must be in 1 ... 2147483647, got 0");
  EXPECT_EQ(message_of([] { DepthwiseConv1D({.depth_multiplier = 0}); }),
            "[depthwise_conv1d] depth_multiplier must be positive, got 0");
  EXPECT_EQ(message_of([] {
              DepthwiseConv1D({.kernel = 4, .name = "d"}).build({3, 2});
            }),
            "[d] a window of 4 does not fit into sequences of 3");
  EXPECT_EQ(message_of([] { SeparableConv1D({.name = "s"}); }), "[s] filters must be positive, got 0");
  EXPECT_EQ(message_of([] { ZeroPadding1D({.front = -1}); }),
            "[zero_padding1d] padding must not be negative, got -1");
  EXPECT_EQ(message_of([] { Conv1DTranspose({.filters = 1, .strides = 2, .output_padding = 2}); }),
            "[conv1d_transpose] output_padding must be from 0 up to below the strides, 2, got 2");
  EXPECT_EQ(message_of([] { Conv1DTranspose({.filters = 1, .strides = 2, .dilation = 3}); }),
            "[conv1d_transpose] strides of 2 do not go with a dilation of 3: one of them must be 1");
}

TEST(SpatialDropout1D, DropsWholeChannels) {
  const auto layer = layer_from_config("SpatialDropout1D", ConfigDict{{"rate", 0.5}});
  const Tensor y = (*layer)(Tensor::full({8, 5, 6}, 1.0), {.training = true, .seed = 3}).value();
  const std::vector<float> values = y.to_vector<float>();
  int dropped = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], values[i / 30 * 30 + i % 6]) << "element " << i;  // as in the first step
    dropped += values[i] == 0.0f;
  }
  EXPECT_GT(dropped, 0);
  EXPECT_LT(dropped, 240);
}

}  // namespace
}  // namespace ronde::test
