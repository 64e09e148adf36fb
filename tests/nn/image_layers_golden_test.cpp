// Layers of images against stored values of real Keras: outputs, and gradients of the input and of each
// weight.
#include <cmath>

#include <ronde/nn/weight_layout.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

Shape shape_of(const nlohmann::json& extents) {
  return Shape(extents.get<std::vector<std::int64_t>>());
}

/// function(step * i + phase) for each element i; f64.
Tensor waves(double (*function)(double), const Shape& shape, double step, double phase = 0.0) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.count(); ++i)
    values.push_back(function(step * static_cast<double>(i) + phase));
  return f64_tensor(shape, values);
}

void expect_golden(const nlohmann::json& golden) {
  const auto described = ordered_json::parse(golden["config"].dump());
  const auto layer = layer_from_config(golden["class_name"], from_json(described));
  SCOPED_TRACE(described.dump());
  const bool interpolates = golden["config"].value("interpolation", "") == "bilinear";  // in f32 there
  const double tolerance = interpolates ? 1e-6 : 1e-9;
  const Shape shape = shape_of(golden["shape"]);
  layer->build(shape.tail(1), in_f64());
  std::vector<Parameter> weights = layer->parameters();
  ASSERT_EQ(weights.size() + 1, golden["gradients"].size());
  for (std::size_t k = 0; k < weights.size(); ++k)
    assign_keras_layout(weights[k],
                        waves(std::sin, keras_shape(weights[k]), 0.9, static_cast<double>(k + 1)));
  const Variable x = Variable::parameter(waves(std::sin, shape, 0.7, 0.1));
  const Variable y = (*layer)(x);
  ASSERT_EQ(y.shape(), shape_of(golden["output_shape"]));
  expect_close(y.value(), golden["output"], tolerance, "output");
  y.backward(waves(std::cos, y.shape(), 0.3));
  expect_close(x.grad(), golden["gradients"][0], tolerance, "gradient of the input");
  for (std::size_t k = 0; k < weights.size(); ++k) {
    Parameter gradient = weights[k];
    gradient.variable = Variable(weights[k].variable.grad());
    expect_close(to_keras_layout(gradient), golden["gradients"][k + 1], tolerance, weights[k].name);
  }
}

TEST(ImageLayers, AreThoseOfKeras) {
  const nlohmann::json golden = read_golden("image_layers_keras3.15.1.json");
  for (const nlohmann::json& layer : golden["layers"]) expect_golden(layer);
}

}  // namespace
}  // namespace ronde::test
