// Layers against what real Keras made of the same inputs and weights: tests/golden/make_layers.py.
#include <ronde/nn/layer_factory.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

/// {"shape": [2, 3], "values": [...]}
Tensor tensor_of(const nlohmann::json& json) {
  const auto extents = json.at("shape").get<std::vector<std::int64_t>>();
  return f64_tensor(Shape(extents), json.at("values").get<std::vector<double>>());
}

class KerasLayers : public ::testing::TestWithParam<const char*> {};

TEST_P(KerasLayers, GiveWhatKerasGives) {
  for (const nlohmann::json& golden : read_golden(cat("layers_keras", GetParam(), ".json"))) {
    SCOPED_TRACE(golden.at("config").dump());
    const auto layer = parse(golden.at("class_name").get<std::string>(), golden.at("config").dump());
    const Tensor x = tensor_of(golden.at("x"));
    layer->build(x.shape().tail(1), in_f64());
    const std::vector<Parameter> weights = layer->parameters();
    ASSERT_EQ(weights.size(), golden.at("weights").size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Variable weight = weights[i].variable;
      weight.assign(tensor_of(golden.at("weights").at(i)));
    }
    const std::vector<double> y = (*layer)(x).value().to_vector<double>();
    const auto expected = golden.at("y").get<std::vector<double>>();
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], expected[i], 1e-12 * (1.0 + std::abs(expected[i]))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, KerasLayers, ::testing::Values("2.15.0", "3.15.1"));

}  // namespace
}  // namespace ronde::test
