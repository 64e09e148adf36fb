/// Small nets of the layers of sequences.
#pragma once

#include <memory>

#include <ronde/nn/average_pooling1d.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/conv1d_transpose.h>
#include <ronde/nn/cropping1d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/global_max_pooling1d.h>
#include <ronde/nn/max_pooling1d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/up_sampling1d.h>
#include <ronde/nn/zero_padding1d.h>

#include "models/interop/dice.h"

namespace ronde::test {

inline Conv1D random_conv1d(Dice& dice) {
  const bool dilated = dice.roll(3) == 0;
  return Conv1D({.filters = 1 + dice.roll(6),
                 .kernel = 1 + dice.roll(4),
                 .strides = dilated ? 1 : 1 + dice.roll(2),
                 .padding = static_cast<Padding1D>(dice.roll(3)),
                 .dilation = dilated ? 2 : 1,
                 .activation = random_activation(dice),
                 .use_bias = dice.coin()});
}

inline std::unique_ptr<Sequential> random_series(Dice& dice) {
  auto net = std::make_unique<Sequential>();
  net->add(random_conv1d(dice));
  const Pooling1DOptions pooling{.pool = 1 + dice.roll(3), .padding = random_padding(dice)};
  if (dice.coin())
    net->add(MaxPooling1D(pooling));
  else
    net->add(AveragePooling1D(pooling));
  net->add(ZeroPadding1D({.front = dice.roll(3), .back = 2}));
  net->add(Conv1DTranspose({.filters = 1 + dice.roll(6),
                            .kernel = 1 + dice.roll(4),
                            .strides = 1 + dice.roll(3),
                            .padding = random_padding(dice),
                            .activation = random_activation(dice)}));
  net->add(Cropping1D({.front = dice.roll(2), .back = dice.roll(2)}));
  net->add(UpSampling1D({.size = 1 + dice.roll(3)}));
  net->add(random_conv1d(dice));
  switch (dice.roll(3)) {
    case 0:
      net->add(GlobalAveragePooling1D());
      break;
    case 1:
      net->add(GlobalMaxPooling1D());
      break;
    default:
      net->add(Flatten());
  }
  net->add(Dense({.units = kRandomClasses, .activation = Activation::softmax}));
  return net;
}

}  // namespace ronde::test
