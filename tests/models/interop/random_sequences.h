/// Small nets of attentions without heads and of what else makes sequences of sequences.
#pragma once

#include <memory>

#include <ronde/nn/attention.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv1d.h>
#include <ronde/nn/dot.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/permute.h>
#include <ronde/nn/repeat_vector.h>
#include <ronde/nn/separable_conv1d.h>

#include "models/interop/dice.h"

namespace ronde::test {

/// Of at least 12 steps.
inline std::unique_ptr<Graph> random_sequences(Dice& dice) {
  auto net = std::make_unique<Graph>();
  const Symbol in = net->input();
  const Symbol query = net->add(Attention({.use_scale = dice.coin(),
                                           .score_mode = static_cast<ScoreMode>(dice.roll(2)),
                                           .use_causal_mask = dice.coin()}),
                                {in, in});
  const bool dilated = dice.roll(3) == 0;
  Symbol x = net->add(SeparableConv1D({.filters = 1 + dice.roll(6),
                                       .kernel = 1 + dice.roll(4),
                                       .strides = dilated ? 1 : 1 + dice.roll(2),
                                       .padding = dice.coin() ? Padding1D::same : Padding1D::valid,
                                       .depth_multiplier = 1 + dice.roll(2),
                                       .dilation = dilated ? 2 : 1,
                                       .activation = random_activation(dice),
                                       .use_bias = dice.coin()}),
                      in);
  x = net->add(DepthwiseConv1D({.kernel = 1 + dice.roll(3),
                                .strides = 1 + dice.roll(2),
                                .padding = random_padding(dice),
                                .depth_multiplier = 1 + dice.roll(2),
                                .activation = random_activation(dice),
                                .use_bias = dice.coin()}),
               x);
  const Symbol value = net->add(Dense({.units = 4}), x), key = net->add(Dense({.units = 4}), x);
  Symbol y = net->add(Dense({.units = 4, .activation = Activation::tanh}), query);
  y = net->add(AdditiveAttention({.use_scale = dice.coin(), .use_causal_mask = dice.coin()}),
               {y, value, key});
  const Symbol same = net->add(RepeatVector(3), net->add(GlobalAveragePooling1D(), y));
  y = net->add(Permute({2, 1}), net->add(Dot({.axes = {-1}, .normalize = dice.coin()}), {y, same}));
  net->output(
      net->add(Dense({.units = kRandomClasses, .activation = Activation::softmax}), net->add(Flatten(), y)));
  return net;
}

}  // namespace ronde::test
