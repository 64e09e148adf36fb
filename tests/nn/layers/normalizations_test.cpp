// Normalizations but those of batches and groups; their values are Keras' own in keras_layers_test.cpp.
#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/nn/group_normalization.h>
#include <ronde/nn/layer_factory.h>
#include <ronde/nn/layer_normalization.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/rms_normalization.h>
#include <ronde/nn/unit_normalization.h>

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

/// Of the last axis, without a weight.
std::vector<double> divided_by(const Tensor& x, double (*length)(double squares, double count)) {
  std::vector<double> values = x.to_vector<double>();
  const auto c = static_cast<std::size_t>(x.size(-1));
  for (std::size_t row = 0; row < values.size(); row += c) {
    double squares = 0;
    for (std::size_t i = row; i < row + c; ++i) squares += values[i] * values[i];
    for (std::size_t i = row; i < row + c; ++i) values[i] /= length(squares, static_cast<double>(c));
  }
  return values;
}

TEST(RMSNormalization, DividesByTheRootOfTheMeanSquare) {
  const Tensor x = random_tensor({3, 2, 4});
  RMSNormalization layer({.epsilon = 0.25});
  layer.build({2, 4}, in_f64());
  EXPECT_EQ(find_parameter(layer, "scale").variable.shape(), Shape{4});
  const std::vector<double> expected =
      divided_by(x, [](double squares, double count) { return std::sqrt(squares / count + 0.25); });
  expect_close(layer(x).value(), expected, 1e-14, "new");
  randomize(layer);
  expect_module_gradients(layer, x);
  const Variable y = layer(x) / find_parameter(layer, "scale").variable;
  expect_close(y.value(), expected, 1e-14, "scaled");
}

TEST(RMSNormalization, KnowsItsInputs) {
  RMSNormalization layer({.name = "norm"});
  layer.build({2, 4});
  EXPECT_EQ(layer(Tensor::zeros({0, 2, 4})).shape(), (Shape{0, 2, 4}));
  EXPECT_EQ(message_of([&] { layer(Tensor::zeros({3, 2, 5})); }), "[norm] expects 4 input channels, got 5");
  EXPECT_EQ(message_of([&] {
              RMSNormalization({.axis = 1, .name = "norm"}).build({2, 4});
            }),
            "[norm] axis: 1 of inputs (1, 2, 4) is not supported, only the last axis");
  EXPECT_EQ(message_of([&] { RMSNormalization().build({}); }),
            "[rms_normalization] expects inputs of shape (n, ..., channels), got (1,)");
  EXPECT_THROW(RMSNormalization({.epsilon = -1.0}), UsageError);
}

TEST(UnitNormalization, HasTheLengthOne) {
  const Tensor x = random_tensor({3, 2, 4});
  UnitNormalization layer;
  expect_close(layer(x).value(), divided_by(x, [](double squares, double) { return std::sqrt(squares); }),
               1e-14, "last axis");
  expect_module_gradients(layer, x);
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1}, {-1, 1}, {2, -2}}) {
    UnitNormalization others({.axes = axes});
    Shape reduced;
    for (const std::int64_t axis : axes) reduced.push_back(axis);
    for (const double square : sum(square(others(x)), {.axes = reduced}).value().to_vector<double>())
      EXPECT_NEAR(square, 1, 1e-14);
    expect_module_gradients(others, x);
  }
}

// Of Keras 2; in Keras 3 the gradient is NaN.
TEST(UnitNormalization, OfNothingIsNothing) {
  const Variable x = Variable::parameter(f64_tensor({2, 2}, {0, 0, 3e-7, -4e-7}));
  const Variable y = UnitNormalization()(x);
  expect_close(y.value(), {0, 0, 0.3, -0.4}, 1e-14, "values");
  sum(y).backward();
  expect_close(x.grad(), {1e6, 1e6, 1e6, 1e6}, 1e-14, "gradients");
}

TEST(UnitNormalization, KnowsItsInputs) {
  const auto message = [](const std::vector<std::int64_t>& axes) {
    return message_of([&] { UnitNormalization({.axes = axes, .name = "norm"}).build({2, 4}); });
  };
  EXPECT_EQ(UnitNormalization()(Tensor::zeros({0, 2, 4})).shape(), (Shape{0, 2, 4}));
  for (const std::int64_t axis : {-4, -3, 0, 3})
    EXPECT_EQ(message({axis}), cat("[norm] axis: inputs (1, 2, 4) have no axis ", axis, " behind the batch"));
  EXPECT_EQ(message({1, -2}), "[norm] axis: 1 is there twice");
  EXPECT_EQ(message({}), "[norm] needs an axis to normalise over, got 0");
  EXPECT_EQ(message({1, 2}), "no error");
}

// From 512 to 1024 numbers are 4 apart in bf16: a mean or a square in it would be far off.
template <class Layer>
void expect_statistics_of_f32() {
  Layer mixed, single;
  SCOPED_TRACE(mixed.class_name());
  mixed.build({64}, {.compute_dtype = DType::bf16});
  single.build({64});
  std::vector<float> values;
  for (int i = 0; i < 128; ++i) values.push_back(static_cast<float>(900 + 4 * (i * i % 13)));
  const Tensor x = Tensor::from<float>({2, 64}, values);
  const Variable y = mixed(x);
  EXPECT_EQ(y.dtype(), DType::bf16);
  const Tensor expected = single(x).value().to(DType::bf16);
  EXPECT_EQ(y.value().to_vector<double>(), expected.to_vector<double>());
}

TEST(Normalizations, StatisticsOfBf16AreThoseOfF32) {
  expect_statistics_of_f32<LayerNormalization>();
  expect_statistics_of_f32<GroupNormalization>();
  expect_statistics_of_f32<RMSNormalization>();
  expect_statistics_of_f32<UnitNormalization>();
}

}  // namespace
}  // namespace ronde::test
