/// Nets by chance as those of keras.applications are built: with what they normalise, squeeze and reshape.
#pragma once

#include <memory>

#include <ronde/nn/activation.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/reshape.h>

#include "models/interop/dice.h"

namespace ronde::test {

/// What a net of this kind is made of; Keras 2 does not know the last two functions.
struct ApplicationParts {
  std::int64_t classes;
  bool repeatable;  // no dropout
  bool keras3_only;
};

/// Weights of what is important, (n, 1, 1, c), by one of the two ways to keep the axes.
inline Symbol add_squeeze(Graph& graph, Dice& dice, const Symbol& x, Activation::Kind gate) {
  Symbol y = dice.coin()
                 ? graph.add(GlobalAveragePooling2D({.keepdims = true}), x)
                 : graph.add(Reshape({.target_shape = {1, 1, -1}}), graph.add(GlobalMaxPooling2D(), x));
  y = graph.add(Conv2D({.filters = 3, .kernel = {1, 1}, .activation = Activation::relu6}), y);
  return graph.add(Conv2D({.filters = 6, .kernel = {1, 1}, .activation = gate}), y);
}

inline std::unique_ptr<Graph> random_application(Dice& dice, const ApplicationParts& parts) {
  auto graph = std::make_unique<Graph>();
  Symbol x = graph->add(Rescaling({.scale = {0.5}, .offset = {0.25}}), graph->input());
  x = graph->add(dice.coin() ? Normalization() : Normalization({.mean = {0.3}, .variance = {0.7}}), x);
  x = graph->add(Conv2D({.filters = 6,
                         .strides = {2, 2},
                         .padding = Padding::same,
                         .activation = parts.keras3_only ? Activation::hard_silu : Activation::mish}),
                 x);
  const Activation::Kind gate = parts.keras3_only ? Activation::hard_sigmoid : Activation::sigmoid;
  Symbol y = graph->add(Multiply(), {x, add_squeeze(*graph, dice, x, gate)});
  if (!parts.repeatable) y = graph->add(Dropout(0.2, {1, 1, 1}), y);
  x = graph->add(Add(), {x, y});
  x = graph->add(LayerNormalization({.epsilon = 1e-2, .center = dice.coin()}), x);
  x = graph->add(Conv2D({.filters = 4, .activation = Activation::relu6}), x);
  x = graph->add(LayerNormalization({.scale = dice.coin()}), x);
  x = graph->add(Reshape({.target_shape = {-1, 4}}), x);
  x = graph->add(GlobalAveragePooling1D({.keepdims = true}), x);
  x = graph->add(Reshape({.target_shape = {4}}), x);
  graph->output(graph->add(Dense({.units = parts.classes, .activation = Activation::softmax}), x));
  return graph;
}

}  // namespace ronde::test
