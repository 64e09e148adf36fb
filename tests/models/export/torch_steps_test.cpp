// Nets with a layer for each step of a sequence, with the names and layouts of PyTorch.
#include <algorithm>

#include <ronde/models/named_weights.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/prelu.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/time_distributed.h>

#include "support/gradient_check.h"
#include "support/message_of.h"

namespace ronde::test {
namespace {

/// The rows of `kernel`, of pixels (h, w, c), as PyTorch has its columns.
std::vector<float> columns_of(const Tensor& kernel, const Shape& image) {
  return kernel.reshape({image[0], image[1], image[2], kernel.size(1)})
      .permute({3, 2, 0, 1})
      .to_vector<float>();
}

/// Those of a Dense that takes what a Conv2D of 3 filters makes of steps (3, 4, 1).
void expect_rows_of_pixels(Sequential net, const std::string& dense) {
  net.build({2, 3, 4, 1});
  std::string name = dense;
  std::replace(name.begin(), name.end(), '/', '.');
  const Tensor kernel = named_weights(net).at(dense + "/kernel").clone();
  const NamedTensors torch = named_weights(net, WeightNames::torch);
  EXPECT_EQ(torch.at(name + ".weight").to_vector<float>(), columns_of(kernel, {2, 3, 3}));
  for (const Parameter& weight : net.parameters()) weight.variable.value().fill(0.0);
  assign_named_weights(net, torch);
  EXPECT_EQ(named_weights(net).at(dense + "/kernel").to_vector<float>(), kernel.to_vector<float>());
}

TEST(TorchSteps, FlattenedImagesOfStepsHaveTheirChannelsFirst) {
  const Conv2DOptions conv{.filters = 3, .kernel = {2, 2}};
  expect_rows_of_pixels(Sequential(TimeDistributed(Conv2D(conv)), TimeDistributed(Flatten()),
                                   TimeDistributed(Dense({.units = 2}))),
                        "time_distributed_2/layer");
  expect_rows_of_pixels(
      Sequential(Rescaling({.scale = {2.0}}), TimeDistributed(Conv2D(conv)), ReLU(),
                 TimeDistributed(Flatten()), Dropout(0.5), TimeDistributed(Dense({.units = 2}))),
      "time_distributed_2/layer");
  expect_rows_of_pixels(
      Sequential(TimeDistributed(Sequential(Conv2D(conv), Flatten())), TimeDistributed(Dense({.units = 2}))),
      "time_distributed_1/layer");
  expect_rows_of_pixels(
      Sequential(TimeDistributed(Sequential(Conv2D(conv), Flatten(), Dense({.units = 2, .name = "last"}))),
                 Dense({.units = 2})),
      "time_distributed/layer/last");
}

TEST(TorchSteps, SequencesOfStepsHaveTheirChannelsFirst) {
  Sequential net(TimeDistributed(Conv1D({.filters = 3, .kernel = 2})), TimeDistributed(Flatten()),
                 TimeDistributed(Dense({.units = 2})));
  net.build({2, 5, 1});
  EXPECT_EQ(named_weights(net, WeightNames::torch).at("time_distributed_2.layer.weight").to_vector<float>(),
            columns_of(named_weights(net).at("time_distributed_2/layer/kernel"), {1, 4, 3}));
}

// (n, steps, features) is the same there.
TEST(TorchSteps, VectorsOfStepsAreFlattenedAsTheyAre) {
  Sequential net(TimeDistributed(Conv2D({.filters = 3, .kernel = {2, 2}})),
                 TimeDistributed(GlobalAveragePooling2D()), Flatten(), Dense({.units = 2}));
  net.build({2, 3, 4, 1});
  EXPECT_EQ(named_weights(net, WeightNames::torch).at("dense.weight").to_vector<float>(),
            named_weights(net).at("dense/kernel").permute({1, 0}).to_vector<float>());
}

TEST(TorchSteps, AnEmbeddingGivesWordsFirstInPyTorchToo) {
  Sequential net(Embedding({.input_dim = 9, .output_dim = 3}), TimeDistributed(Flatten()),
                 TimeDistributed(Dense({.units = 2})));
  net.build({2, 4});
  EXPECT_EQ(named_weights(net, WeightNames::torch).at("time_distributed_1.layer.weight").to_vector<float>(),
            named_weights(net).at("time_distributed_1/layer/kernel").permute({1, 0}).to_vector<float>());
}

TEST(TorchSteps, ASequenceStaysOneWhereItsOrderIsKept) {
  Sequential net(Conv1D({.filters = 3, .kernel = 2}), TimeDistributed(ReLU()), Flatten(),
                 Dense({.units = 2}));
  net.build({5, 1});
  EXPECT_EQ(named_weights(net, WeightNames::torch).at("dense.weight").to_vector<float>(),
            columns_of(named_weights(net).at("dense/kernel"), {1, 4, 3}));
}

std::string refusal(Sequential net, const Shape& input) {
  net.build(input);
  EXPECT_NO_THROW(named_weights(net));
  return message_of<Error>([&] { named_weights(net, WeightNames::torch); });
}

TEST(TorchSteps, OtherOrdersAreNoneOfPyTorch) {
  const Shape images{2, 3, 4, 2};
  const std::string put_into =
      " takes images, sequences or their pixels of the steps of a TimeDistributed, for which PyTorch has "
      "another order: put it into a TimeDistributed too, or use WeightNames::keras";
  EXPECT_EQ(refusal(Sequential(TimeDistributed(Conv2D({.filters = 2})), Flatten()), images),
            "[weights] layer flatten" + put_into);
  EXPECT_EQ(refusal(Sequential(TimeDistributed(Flatten()), Dense({.units = 2})), images),
            "[weights] layer dense" + put_into);
  EXPECT_EQ(
      refusal(Sequential(TimeDistributed(std::make_unique<TimeDistributed>(Flatten()))), {2, 2, 3, 4, 2}),
      "[weights] layer time_distributed gives images, sequences or their pixels of steps of steps, for "
      "which PyTorch has another order: use WeightNames::keras");
  EXPECT_EQ(refusal(Sequential(Conv2D({.filters = 2}), TimeDistributed(Flatten())), {4, 4, 1}),
            "[weights] layer time_distributed takes (2, 2, 2) as steps, for which PyTorch has another order: "
            "use WeightNames::keras");
  const std::string of_places =
      " has weights for the places in an image, for which PyTorch has another order";
  EXPECT_EQ(refusal(Sequential(TimeDistributed(PReLU())), images),
            "[weights] layer time_distributed/layer" + of_places);
  EXPECT_EQ(refusal(Sequential(TimeDistributed(Sequential(LayerNormalization({.axes = {1, 2, 3}})))), images),
            "[weights] layer time_distributed/layer/layer_normalization" + of_places);
  EXPECT_EQ(refusal(Sequential(Flatten(), Dense({.units = 2})), images),
            "[weights] layer flatten makes (48,) of (2, 3, 4, 2), for which PyTorch has another order");
}

}  // namespace
}  // namespace ronde::test
