// Normalization and LayerNormalization; their values are Keras' own in keras_layers_test.cpp.
#include <ronde/core/ops.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/normalization.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

TEST(Normalization, HasAGradientButTrainsNothing) {
  const Tensor x = random_tensor({3, 2, 4});
  for (const bool invert : {false, true}) {
    Normalization layer({.invert = invert});
    layer.build({2, 4}, in_f64());
    randomize(layer);
    expect_module_gradients(layer, x);
    ASSERT_EQ(layer.parameters().size(), 3u);
    for (const Parameter& weight : layer.parameters()) EXPECT_FALSE(weight.variable.requires_grad());
    EXPECT_EQ(find_parameter(layer, "count").variable.shape(), Shape());
  }
}

TEST(Normalization, OneNumberServesAllChannelsAndOthersAreOneEach) {
  Normalization one({.mean = {1.0}, .variance = {4.0}}), each({.mean = {1.0, 2.0}, .variance = {4.0, 0.25}});
  const Tensor x = f64_tensor({2, 2}, {1, 2, 3, 4});
  one.build({2}, in_f64());
  each.build({2}, in_f64());
  EXPECT_EQ(one(x).value().to_vector<double>(), (std::vector<double>{0, 0.5, 1, 1.5}));
  EXPECT_EQ(each(x).value().to_vector<double>(), (std::vector<double>{0, 0, 1, 4}));
  EXPECT_TRUE(each.parameters().empty());
  Normalization three({.mean = {1.0, 2.0, 3.0}, .variance = {1.0, 1.0, 1.0}, .name = "three"});
  EXPECT_EQ(message_of([&] { three.build({2}); }), "[three] has 3 means for 2 channels");
  EXPECT_THROW(Normalization({.mean = {1.0}}), UsageError);
}

// Keras' axis=None; its weights are scalars.
TEST(Normalization, WithoutAnAxisAllElementsHaveOneMean) {
  Normalization given({.axis = std::nullopt, .mean = {1.0}, .variance = {4.0}}),
      weights({.axis = std::nullopt});
  const Tensor x = f64_tensor({2, 2}, {1, 2, 3, 4});
  given.build({2}, in_f64());
  EXPECT_EQ(given(x).value().to_vector<double>(), (std::vector<double>{0, 0.5, 1, 1.5}));
  weights.build({2, 4}, in_f64());
  for (const char* name : {"mean", "variance", "count"})
    EXPECT_EQ(find_parameter(weights, name).variable.shape(), Shape()) << name;
  randomize(weights);
  expect_module_gradients(weights, random_tensor({3, 2, 4}));
  Normalization two({.axis = std::nullopt, .mean = {1.0, 2.0}, .variance = {1.0, 1.0}, .name = "two"});
  EXPECT_EQ(message_of([&] { two.build({2}); }), "[two] has 2 means for all elements, as it has no axis");
}

// Keras writes its None as the empty list of the axes that are kept.
TEST(Normalization, NoAxisIsAnEmptyListInItsConfiguration) {
  const ConfigValue without(ConfigDict{{"axis", ConfigList()}}), last(ConfigDict{{"axis", ConfigList{-1}}});
  const auto read = [](const ConfigValue& config) { return layer_from_config("Normalization", config); };
  const auto axis_of = [](const Module& layer) {
    return dynamic_cast<const Normalization&>(layer).options().axis;
  };
  EXPECT_EQ(axis_of(*read(without)), std::nullopt);
  EXPECT_EQ(axis_of(*read(last)), -1);
  EXPECT_TRUE(ConfigValue(read(without)->config()).at("axis").as_list().empty());
  EXPECT_EQ(ConfigValue(read(last)->config()).at("axis").as_int(), -1);
}

TEST(LayerNormalization, GradientsAreThoseOfTheFormula) {
  const Tensor x = random_tensor({3, 2, 4});
  for (const LayerNormalizationOptions& options :
       {LayerNormalizationOptions{}, LayerNormalizationOptions{.axes = {-2, -1}},
        LayerNormalizationOptions{.center = false}, LayerNormalizationOptions{.scale = false}}) {
    LayerNormalization layer(options);
    layer.build({2, 4}, in_f64());
    randomize(layer);
    expect_module_gradients(layer, x);
  }
}

TEST(LayerNormalization, KnowsItsInputs) {
  LayerNormalization layer({.name = "norm"});
  layer.build({2, 4});
  EXPECT_EQ(layer(Tensor::zeros({0, 2, 4})).shape(), (Shape{0, 2, 4}));
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({3, 2, 5}));
            }),
            "[norm] expects inputs (n, ...) that end with (4,), got (3, 2, 5)");
  EXPECT_THROW(LayerNormalization({.epsilon = -1.0}), UsageError);
}

// From 512 to 1024 numbers are 4 apart in bf16: a mean or a square in it would be far off.
TEST(LayerNormalization, StatisticsOfBf16AreThoseOfF32) {
  LayerNormalization mixed, single;
  mixed.build({64}, {.compute_dtype = DType::bf16});
  single.build({64});
  std::vector<float> values;
  for (int i = 0; i < 128; ++i) values.push_back(static_cast<float>(900 + 4 * (i * i % 13)));
  const Tensor x = Tensor::from<float>({2, 64}, values);
  const Variable y = mixed(x);
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(y.value().to_vector<double>(), single(x).value().to(DType::bf16).to_vector<double>());
}

}  // namespace
}  // namespace ronde::test
