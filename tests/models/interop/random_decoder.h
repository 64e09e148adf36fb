/// Small nets of the layers that decoders are made of.
#pragma once

#include <memory>

#include <ronde/nn/conv2d.h>
#include <ronde/nn/conv2d_transpose.h>
#include <ronde/nn/cropping2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/separable_conv2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/up_sampling2d.h>

#include "models/interop/dice.h"

namespace ronde::test {

/// TensorFlow's depthwise kernels have equal strides.
inline std::unique_ptr<Sequential> random_decoder(Dice& dice) {
  auto net = std::make_unique<Sequential>();
  const bool dilated = dice.roll(3) == 0;
  const std::int64_t stride = dilated ? 1 : 1 + dice.roll(2), dilation = dilated ? 2 : 1;
  net->add(SeparableConv2D({.filters = 1 + dice.roll(6),
                            .kernel = {1 + dice.roll(3), 1 + dice.roll(3)},
                            .strides = {stride, stride},
                            .padding = random_padding(dice),
                            .depth_multiplier = 1 + dice.roll(2),
                            .dilation = {dilation, dilation},
                            .activation = random_activation(dice),
                            .use_bias = dice.coin()}));
  net->add(Conv2DTranspose({.filters = 1 + dice.roll(6),
                            .kernel = {1 + dice.roll(4), 1 + dice.roll(4)},
                            .strides = {1 + dice.roll(3), 1 + dice.roll(3)},
                            .padding = random_padding(dice),
                            .activation = random_activation(dice),
                            .use_bias = dice.coin()}));
  net->add(Cropping2D({.top = dice.roll(2), .bottom = dice.roll(2), .left = dice.roll(3)}));
  net->add(UpSampling2D({.size = {1 + dice.roll(2), 1 + dice.roll(3)},
                         .interpolation = dice.coin() ? Interpolation::nearest : Interpolation::bilinear}));
  net->add(Conv2D({.filters = 4, .strides = {2, 2}, .activation = Activation::tanh}));
  net->add(GlobalAveragePooling2D());
  net->add(Dense({.units = kRandomClasses, .activation = Activation::softmax}));
  return net;
}

}  // namespace ronde::test
