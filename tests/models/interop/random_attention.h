/// Small encoders of sequences (steps, features): self- and cross-attention.
#pragma once

#include <memory>

#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/multi_head_attention.h>
#include <ronde/nn/reshape.h>

#include "models/interop/dice.h"

namespace ronde::test {

/// Of an even number of steps.
inline std::unique_ptr<Graph> random_attention(Dice& dice, const Shape& input, bool repeatable) {
  auto net = std::make_unique<Graph>();
  const auto attention = [&] {
    MultiHeadAttentionOptions options{.num_heads = 1 + dice.roll(3), .key_dim = 1 + dice.roll(4)};
    if (dice.coin()) options.value_dim = 1 + dice.roll(4);
    options.dropout = repeatable ? 0.0 : 0.25;
    options.use_bias = dice.coin();
    options.output_shape = {6};
    options.use_causal_mask = dice.coin();
    return MultiHeadAttention(options);
  };
  const Symbol in = net->input();
  Symbol x = net->add(Dense({.units = 6, .activation = Activation::tanh}), in);
  Symbol y = net->add(attention(), x);
  if (!repeatable) y = net->add(Dropout(0.1), y);
  x = net->add(LayerNormalization(), net->add(Add(), {x, y}));
  const Symbol memory = net->add(Reshape({.target_shape = {input[0] / 2, 2 * input[1]}}), in);
  if (dice.coin())
    y = net->add(attention(), {x, memory});
  else
    y = net->add(attention(), {x, memory, net->add(Dense({.units = 3}), memory)});
  x = net->add(LayerNormalization(), net->add(Add(), {x, y}));
  x = net->add(GlobalAveragePooling1D(), x);
  net->output(net->add(Dense({.units = kRandomClasses, .activation = Activation::softmax}), x));
  return net;
}

}  // namespace ronde::test
