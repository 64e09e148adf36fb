/// Nets made by chance from every layer there is, small enough to run in a moment.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include <ronde/models/model.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/adagrad.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/average_pooling2d.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/global_max_pooling2d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/leaky_relu.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/output_losses.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/rmsprop.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>
#include <ronde/nn/softmax.h>
#include <ronde/nn/zero_padding2d.h>

#include "models/interop/random_application.h"
#include "models/interop/random_attention.h"
#include "models/interop/random_decoder.h"
#include "models/interop/random_recurrent.h"
#include "models/interop/random_sequences.h"
#include "models/interop/random_series.h"
#include "models/interop/random_several.h"

namespace ronde::test {

struct RandomNet {
  std::unique_ptr<Module> net;
  Shape input;
  /// Whether its training is the same everywhere: no dropout, and no moving variances, whose rule differs
  /// between Keras 2 and 3.
  bool repeatable = false;
  bool keras3_only = false;  ///< has functions that Keras 2 does not know
  bool has_attention = false;  ///< which Keras 2 and 3 describe in different ways
};

/// A layer for images of c channels, which must be at least 5 x 5 for it. TensorFlow computes no strides
/// together with dilation, and depthwise only strides that are equal.
inline std::unique_ptr<Module> random_image_layer(Dice& dice, std::int64_t& channels, bool repeatable) {
  switch (dice.roll(repeatable ? 6 : 10)) {
    case 0: {
      const bool dilated = dice.roll(3) == 0;
      const std::int64_t groups = channels % 2 == 0 && dice.roll(3) == 0 ? 2 : 1;
      channels = 2 * (1 + dice.roll(3));
      return std::make_unique<Conv2D>(
          Conv2DOptions{.filters = channels,
                        .kernel = {1 + dice.roll(3), 1 + dice.roll(3)},
                        .strides = dilated ? Size2d{1, 1} : Size2d{1 + dice.roll(2), 1 + dice.roll(2)},
                        .padding = random_padding(dice),
                        .dilation = dilated ? Size2d{2, 2} : Size2d{1, 1},
                        .groups = groups,
                        .activation = random_activation(dice),
                        .use_bias = dice.coin()});
    }
    case 1: {
      const std::int64_t multiplier = 1 + dice.roll(2);
      const std::int64_t stride = 1 + dice.roll(2);
      channels *= multiplier;
      return std::make_unique<DepthwiseConv2D>(
          DepthwiseConv2DOptions{.kernel = {1 + dice.roll(3), 1 + dice.roll(3)},
                                 .strides = {stride, stride},
                                 .padding = random_padding(dice),
                                 .depth_multiplier = multiplier,
                                 .activation = random_activation(dice),
                                 .use_bias = dice.coin()});
    }
    case 2:
      return std::make_unique<MaxPooling2D>(
          Pooling2DOptions{.pool = {2 + dice.roll(2), 2 + dice.roll(2)},
                           .strides = Size2d{1 + dice.roll(2), 1 + dice.roll(2)},
                           .padding = random_padding(dice)});
    case 3:
      return std::make_unique<AveragePooling2D>(
          Pooling2DOptions{.pool = {2, 2 + dice.roll(2)}, .strides = {}, .padding = random_padding(dice)});
    case 4:
      return std::make_unique<Activation>(random_activation(dice));
    case 5:
      return std::make_unique<ZeroPadding2D>(ZeroPadding2DOptions{
          .top = dice.roll(2), .bottom = dice.roll(2), .left = dice.roll(2), .right = 1});
    case 6:
    case 7:
      return std::make_unique<BatchNormalization>(BatchNormalizationOptions{
          .momentum = 0.8, .epsilon = 1e-2, .center = dice.coin(), .scale = dice.coin()});
    case 8:
      return dice.coin() ? std::unique_ptr<Module>(std::make_unique<LeakyReLU>(0.1))
                         : std::make_unique<ReLU>(ReLUOptions{.max_value = 2.0});
    default:
      return std::make_unique<Dropout>(0.25);
  }
}

inline std::unique_ptr<Module> random_body_end(Dice& dice) {
  switch (dice.roll(3)) {
    case 0:
      return std::make_unique<GlobalAveragePooling2D>();
    case 1:
      return std::make_unique<GlobalMaxPooling2D>();
    default:
      return std::make_unique<Flatten>();
  }
}

/// Layers one after the other, some of them in a net of their own.
inline std::unique_ptr<Sequential> random_sequential(Dice& dice, std::int64_t channels, bool repeatable) {
  auto net = std::make_unique<Sequential>();
  const std::int64_t layers = 3 + dice.roll(3);
  for (std::int64_t i = 0; i < layers; ++i) net->add(random_image_layer(dice, channels, repeatable));
  if (dice.roll(3) == 0) {
    auto inner = std::make_unique<Sequential>();
    inner->add(std::make_unique<Conv2D>(Conv2DOptions{.filters = 3, .kernel = {1, 1}}));
    inner->add(random_image_layer(dice, channels = 3, repeatable));
    net->add(std::move(inner));
  }
  net->add(random_body_end(dice));
  if (dice.coin())
    net->add(std::make_unique<Dense>(DenseOptions{.units = 6, .activation = random_activation(dice)}));
  if (!repeatable && dice.coin()) net->add(std::make_unique<BatchNormalization>());
  net->add(std::make_unique<Dense>(
      DenseOptions{.units = kRandomClasses, .activation = Activation::softmax, .use_bias = dice.coin()}));
  return net;
}

/// A net of four channels, to be a layer of another; it can be called again on its own result.
inline std::unique_ptr<Module> random_nested(Dice& dice, bool repeatable) {
  auto graph = std::make_unique<Graph>();
  const Symbol x = graph->input("inner_input");
  const Symbol side = graph->add(Conv2D({.filters = 4, .kernel = {1, 1}, .name = "inner_side"}), x);
  Symbol y = graph->add(Conv2D({.filters = 4, .padding = Padding::same, .name = "inner_deep"}), x);
  if (!repeatable) y = graph->add(BatchNormalization({.name = "inner_normalization"}), y);
  graph->output(graph->add(Average(), {side, y}));
  if (dice.coin()) return graph;
  auto chain = std::make_unique<Sequential>();
  chain->add(std::move(graph));
  chain->add(Conv2D({.filters = 4, .padding = Padding::same, .name = "inner_end"}));
  return chain;
}

/// Two branches that meet, a layer and a net that are called twice, and one of the ways to join.
inline std::unique_ptr<Graph> random_graph(Dice& dice, std::int64_t channels, bool repeatable) {
  auto graph = std::make_unique<Graph>();
  Symbol x = graph->input();
  const auto convolution = [&](std::int64_t filters) {
    return Conv2D({.filters = filters, .padding = Padding::same, .activation = random_activation(dice)});
  };
  x = graph->add(convolution(channels + 2), x);
  Symbol y = graph->add(convolution(channels + 2), x);
  if (!repeatable) y = graph->add(BatchNormalization(), y);
  y = graph->add(convolution(channels + 2), y);
  y = graph->add(y.layer(), y);
  switch (dice.roll(5)) {
    case 0:
      y = graph->add(Add(), {x, y, x});
      break;
    case 1:
      y = graph->add(Concatenate(), {x, y});
      break;
    case 2:
      y = graph->add(Multiply(), {x, y});
      break;
    case 3:
      y = graph->add(Average(), {y, x});
      break;
    default:
      y = graph->add(Maximum(), {x, y});
  }
  const Symbol of_four = graph->add(convolution(4), y);
  y = graph->add(random_nested(dice, repeatable), of_four);
  y = graph->add(y.layer(), y);
  y = graph->add(MaxPooling2D({.padding = Padding::same}), y);
  y = graph->add(random_body_end(dice), y);
  graph->output(graph->add(Dense({.units = kRandomClasses, .activation = Activation::softmax}), y));
  return graph;
}

/// The nets before them are of other kinds.
inline constexpr std::uint64_t kFirstDecoder = 20, kFirstApplication = 26, kFirstSeveral = 30,
                               kFirstRecurrent = 36, kFirstSeries = 44, kFirstAttention = 48,
                               kFirstSequences = 52;

inline RandomNet random_net(std::uint64_t seed) {
  Dice dice(seed);
  if (seed >= kFirstDecoder && seed < kFirstApplication) {
    const Shape input{12 + dice.roll(5), 12 + dice.roll(5), 1 + dice.roll(4)};
    return {random_decoder(dice), input, true};
  }
  if (seed >= kFirstSequences) {
    const Shape input{12 + dice.roll(5), 1 + dice.roll(4)};
    return {random_sequences(dice), input, true};
  }
  if (seed >= kFirstAttention) {
    const Shape input{4 + 2 * dice.roll(3), 1 + dice.roll(4)};
    const bool repeatable = seed % 2 == 0;
    return {.net = random_attention(dice, input, repeatable),
            .input = input,
            .repeatable = repeatable,
            .has_attention = true};
  }
  if (seed >= kFirstSeries) {
    const Shape input{20 + dice.roll(8), 1 + dice.roll(4)};
    return {random_series(dice), input, true};
  }
  if (seed >= kFirstRecurrent) {
    const Shape input{1 + dice.roll(6), 1 + dice.roll(4)};
    return {random_recurrent(dice), input, true};
  }
  if (seed >= kFirstSeveral) {
    auto net = random_several(dice, seed);
    const Shape rows = joined_shape(net->input_parts());
    return {std::move(net), rows};
  }
  const std::int64_t channels = 1 + dice.roll(4);
  RandomNet result;
  result.input = {12 + dice.roll(5), 12 + dice.roll(5), channels};
  result.repeatable = seed % 2 == 0;
  result.keras3_only = seed >= kFirstApplication + 2;
  if (seed >= kFirstApplication)
    result.net = random_application(
        dice,
        {.classes = kRandomClasses, .repeatable = result.repeatable, .keras3_only = result.keras3_only});
  else if (seed % 5 == 4)
    result.net = random_graph(dice, channels, result.repeatable);
  else
    result.net = random_sequential(dice, channels, result.repeatable);
  return result;
}

inline std::unique_ptr<Optimizer> random_optimizer(std::uint64_t seed) {
  switch (seed / 2 % 6) {
    case 0:
      return std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01, .amsgrad = seed % 4 == 0});
    case 1:
      return std::make_unique<RMSprop>(
          RMSpropOptions{.learning_rate = 0.003, .momentum = 0.5, .centered = true});
    case 2:
      return std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true});
    case 3:
      return std::make_unique<Adadelta>(AdadeltaOptions{.learning_rate = 0.5});
    case 4:
      return std::make_unique<Adagrad>(AdagradOptions{.learning_rate = 0.02});
    default:
      return std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1});
  }
}

/// Images (n, shape...) between -1 and 1.
inline Tensor random_images(std::int64_t n, const Shape& shape, double phase = 0.0) {
  Shape all{n};
  for (const std::int64_t extent : shape) all.push_back(extent);
  std::vector<float> values;
  for (std::int64_t i = 0; i < all.count(); ++i)
    values.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + phase) *
                                        std::cos(0.013 * static_cast<double>(i * i % 1009))));
  return Tensor::from<float>(all, values);
}

inline Tensor random_labels(std::int64_t n) {
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < n; ++i)
    labels.push_back(static_cast<std::int32_t>((3 * i + 1) % kRandomClasses));
  return Tensor::from<std::int32_t>({n}, labels);
}

/// Its weights are the same bits on every machine.
inline Model fresh_model(std::uint64_t seed) {
  RandomNet random = random_net(seed);
  return Model(std::move(random.net), random.input, {.seed = seed});
}

/// A compiled model whose weights, moving statistics and optimizer state are those after three steps.
inline Model random_model(std::uint64_t seed) {
  Model model = fresh_model(seed);
  const Shape input = model.module().input_shape();
  std::unique_ptr<Loss> loss = std::make_unique<CategoricalCrossentropy>();
  if (const auto* net = dynamic_cast<const Graph*>(&model.module()); net && net->has_several_parts())
    loss = std::make_unique<OutputLosses>(
        net->output_parts(),
        std::vector<OutputLoss>{{.output = "classes", .loss = std::move(loss), .weight = 0.5}});
  model.compile({.optimizer = random_optimizer(seed), .loss = std::move(loss)});
  for (int step = 0; step < 3; ++step) model.train_on_batch(random_images(8, input, step), random_labels(8));
  return model;
}

}  // namespace ronde::test
