#include <ronde/nn/conv2d_transpose.h>

#include <ronde/nn/weight_layout.h>

#include "nn/layers/naive_conv.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

struct LayerCase {
  Size2d kernel, strides;
  Padding padding;
  Size2d out;  // of images of 3 x 4
};

constexpr LayerCase kLayerCases[] = {{{3, 2}, {2, 2}, Padding::same, {6, 8}},
                                     {{3, 2}, {2, 2}, Padding::valid, {7, 8}},
                                     {{2, 5}, {3, 2}, Padding::valid, {9, 11}},
                                     {{3, 3}, {1, 1}, Padding::same, {3, 4}}};

/// A convolution with the layer's kernel turns images of the result's size into images of the input's. The
/// layer is its transpose: <layer(x), z> = <x, convolution(z)> for every z.
TEST(Conv2DTranspose, IsTheTransposeOfAConvolution) {
  for (const LayerCase& c : kLayerCases) {
    Conv2DTranspose layer(
        {.filters = 2, .kernel = c.kernel, .strides = c.strides, .padding = c.padding, .use_bias = false});
    layer.build({3, 4, 3}, in_f64());
    randomize(layer);
    const Tensor kernel = to_keras_layout(find_parameter(layer, "kernel"));  // of the convolution: 2 -> 3
    ASSERT_EQ(kernel.shape(), (Shape{c.kernel.h, c.kernel.w, 2, 3}));
    const Tensor x = random_tensor({2, 3, 4, 3}, 3), z = random_tensor({2, c.out.h, c.out.w, 2}, 4);
    const Tensor back = naive_conv(z, kernel, {.stride = c.strides, .padding = c.padding});
    EXPECT_NEAR(dot(layer(x).value(), z), dot(x, back), 1e-12);
    expect_module_gradients(layer, x);
  }
}

TEST(Conv2DTranspose, AppliesBiasAndActivation) {
  for (const Activation::Kind kind : {Activation::relu, Activation::tanh}) {
    Conv2DTranspose plain({.filters = 2, .strides = {2, 1}, .use_bias = false});
    Conv2DTranspose layer({.filters = 2, .strides = {2, 1}, .activation = kind});
    for (Module* module : {static_cast<Module*>(&plain), static_cast<Module*>(&layer)})
      module->build({3, 4, 3}, in_f64());
    randomize(layer);
    find_parameter(plain, "kernel").variable.assign(find_parameter(layer, "kernel").variable.value());
    const Tensor x = random_tensor({2, 3, 4, 3}, 3);
    const Variable expected = apply_activation(kind, plain(x) + find_parameter(layer, "bias").variable);
    expect_close(layer(x).value(), expected.value().to_vector<double>(), 1e-12, to_string(kind));
    expect_module_gradients(layer, x);
  }
}

TEST(Conv2DTranspose, NamesItselfInErrors) {
  EXPECT_EQ(message_of([] { Conv2DTranspose none({.filters = 0, .name = "up"}); }),
            "[up] filters must be positive, got 0");
  const Conv2DTransposeOptions up{.filters = 2, .strides = {2, 3}};
  for (const Size2d more : {Size2d{2, 0}, {0, 3}, {-1, 0}}) {
    Conv2DTransposeOptions options = up;
    options.output_padding = more;
    EXPECT_EQ(message_of([&] { Conv2DTranspose layer(options); }),
              cat("[conv2d_transpose] output_padding must be from 0 up to below the strides, 2 x 3, got ",
                  more.h, " x ", more.w));
  }
  EXPECT_EQ(
      message_of([] {
        Conv2DTranspose layer({.filters = 2, .strides = {1, 2}, .dilation = {2, 1}});
      }),
      "[conv2d_transpose] strides of 1 x 2 do not go with a dilation of 2 x 1: one of them must be 1 x 1");
  EXPECT_EQ(message_of([] {
              Conv2DTranspose layer({.filters = 2, .dilation = {0, 1}});
            }),
            "[conv2d_transpose] dilation must be in 1 ... 2147483647, got 0 x 1");
  Conv2DTranspose layer({.filters = 2});
  layer.build({5, 5, 3});
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({1, 5, 5, 4}));
            }),
            "[conv2d_transpose] expects 3 input channels, got 4");
  EXPECT_THROW(layer(random_tensor({2, 3})), Error);
}

}  // namespace
}  // namespace ronde::test
