// Layers against what real Keras made of the same inputs and weights: tests/golden/make_layers.py,
// make_recurrent.py and make_transposed.py.
#include <cmath>

#include <ronde/nn/layer_factory.h>
#include <ronde/nn/weight_layout.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

// What TensorFlow computes in f32, f64 or not.
double tolerance_of(const nlohmann::json& config) {
  return config.value("interpolation", "") == "bilinear" ? 1e-6 : 1e-11;
}

void expect_golden(const nlohmann::json& golden) {
  const nlohmann::json& config = golden.at("config");
  SCOPED_TRACE(config.dump());
  const double tolerance = tolerance_of(config);
  const auto layer = parse(golden.at("class_name").get<std::string>(), config.dump());
  const Variable x = Variable::parameter(golden_tensor(golden.at("x")));
  layer->build(x.shape().tail(1), in_f64());
  std::vector<Parameter> weights = layer->parameters();
  ASSERT_EQ(weights.size(), golden.at("weights").size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    assign_keras_layout(weights[i], golden_tensor(golden.at("weights").at(i)));
  const Variable y = (*layer)(x);
  const Tensor expected = golden_tensor(golden.at("y"));
  ASSERT_EQ(y.shape(), expected.shape());
  expect_close(y.value(), expected.to_vector<double>(), tolerance, "output");
  Tensor seed = Tensor::empty_like(y.value());
  for (std::int64_t i = 0; i < seed.count(); ++i)
    seed.data<double>()[i] = std::cos(0.3 * static_cast<double>(i));
  y.backward(seed);
  auto gradient = golden.at("gradients").begin();
  expect_close(x.grad(), *gradient++, tolerance, "gradient of the input");
  for (Parameter& weight : weights) {
    if (!weight.variable.requires_grad()) continue;
    ASSERT_NE(gradient, golden.at("gradients").end());
    weight.variable = Variable(weight.variable.grad());
    expect_close(to_keras_layout(weight), *gradient++, tolerance, weight.name);
  }
  EXPECT_EQ(gradient, golden.at("gradients").end());
}

/// How many cases a file has, so that none is lost.
struct GoldenFile {
  const char* name;
  std::size_t cases;
};

class KerasLayers : public ::testing::TestWithParam<GoldenFile> {};

TEST_P(KerasLayers, GiveWhatKerasGives) {
  const nlohmann::json all = read_golden(cat(GetParam().name, ".json"));
  ASSERT_EQ(all.size(), GetParam().cases);
  for (const nlohmann::json& golden : all) expect_golden(golden);
}

INSTANTIATE_TEST_SUITE_P(
    Versions, KerasLayers,
    ::testing::Values(GoldenFile{"layers_keras2.15.0", 79}, GoldenFile{"layers_keras3.15.1", 87},
                      GoldenFile{"recurrent_keras2.15.0", 79}, GoldenFile{"recurrent_keras3.15.1", 80},
                      GoldenFile{"series_keras2.15.0", 51}, GoldenFile{"series_keras3.15.1", 49},
                      GoldenFile{"transposed_keras3.15.1", 50}));

}  // namespace
}  // namespace ronde::test
