/// Nets that take a picture and a vector and give classes and two numbers, in rows.
#pragma once

#include <cstdint>
#include <memory>

#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/graph.h>

#include "models/interop/dice.h"

namespace ronde::test {

/// The classes may be among what the numbers are made of; the picture's features may be an output, too.
inline std::unique_ptr<Graph> random_several(Dice& dice, std::uint64_t seed) {
  auto net = std::make_unique<Graph>();
  const Symbol picture = net->input("picture", {6 + dice.roll(3), 6, 1 + dice.roll(3)});
  const Symbol vector = net->input("vector", {1 + dice.roll(4)});
  const Symbol features =
      net->add(Conv2D({.filters = 3, .activation = random_activation(dice), .name = "features"}), picture);
  const Symbol seen = net->add(Concatenate(), {vector, net->add(Flatten(), features)});
  const Symbol body =
      net->add(Dropout(0.1), net->add(Dense({.units = 6, .activation = Activation::tanh}), seen));
  const Symbol classes =
      net->add(Dense({.units = kRandomClasses, .activation = Activation::softmax, .name = "classes"}), body);
  const Symbol both = net->add(Concatenate(), {body, dice.coin() ? classes : vector});
  const Symbol numbers = net->add(Dense({.units = 2, .name = "numbers"}), both);
  switch (seed % 3) {
    case 0:
      net->output({{"classes", classes}, {"numbers", numbers}});  // a dict
      break;
    case 1:
      net->output({classes, numbers, features});
      break;
    default:
      net->output({numbers, classes});
  }
  return net;
}

}  // namespace ronde::test
