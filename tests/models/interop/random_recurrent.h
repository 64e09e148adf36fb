/// Small nets of the layers that carry a state from step to step.
#pragma once

#include <memory>
#include <utility>

#include <ronde/nn/bidirectional.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/lstm.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/simple_rnn.h>

#include "models/interop/dice.h"

namespace ronde::test {

/// With functions that ONNX has.
inline std::unique_ptr<Recurrent> random_recurrent_layer(Dice& dice, bool sequences) {
  constexpr Activation::Kind kKinds[] = {Activation::tanh,     Activation::relu,     Activation::elu,
                                         Activation::softplus, Activation::softsign, Activation::sigmoid};
  const bool plain = dice.coin();
  const RecurrentOptions options{.units = 1 + dice.roll(5),
                                 .activation = plain ? Activation::tanh : kKinds[dice.roll(6)],
                                 .recurrent_activation = plain ? Activation::sigmoid : kKinds[dice.roll(6)],
                                 .use_bias = dice.roll(4) > 0,
                                 .recurrent_regularizer = plain ? Regularizer() : Regularizer::l2(0.1),
                                 .return_sequences = sequences,
                                 .go_backwards = dice.coin(),
                                 .reset_after = dice.coin()};
  switch (dice.roll(3)) {
    case 0:
      return std::make_unique<SimpleRNN>(options);
    case 1:
      return std::make_unique<GRU>(options);
    default:
      return std::make_unique<LSTM>(options);
  }
}

inline std::unique_ptr<Sequential> random_recurrent(Dice& dice) {
  auto net = std::make_unique<Sequential>();
  for (const bool sequences : {true, true, false}) {
    auto layer = random_recurrent_layer(dice, sequences);
    if (dice.coin())
      net->add(std::move(layer));
    else
      net->add(std::make_unique<Bidirectional>(
          std::move(layer), nullptr,
          BidirectionalOptions{.merge_mode = static_cast<MergeMode>(dice.roll(4))}));
  }
  net->add(Dense({.units = kRandomClasses, .activation = Activation::softmax}));
  return net;
}

}  // namespace ronde::test
