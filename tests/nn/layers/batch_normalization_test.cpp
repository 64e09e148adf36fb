#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/nn/batch_normalization.h>

#include "nn/testing.h"

namespace ronde::test {
namespace {

using nlohmann::json;

Tensor read_tensor(const json& entry, DType dtype) {
  Shape shape;
  for (const std::int64_t extent : entry.at("shape")) shape.push_back(extent);
  return f64_tensor(shape, entry.at("values")).to(dtype);
}

void expect_near(const Tensor& actual, const json& expected, double tolerance, const std::string& what) {
  const std::vector<double> values = expected.at("values");
  double scale = 1e-3;
  for (const double value : values) scale = std::max(scale, std::abs(value));
  const std::vector<double> got = actual.to_vector<double>();
  ASSERT_EQ(got.size(), values.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], values[i], tolerance * scale) << what << ", element " << i;
}

/// Three training steps and an inference step, as Keras did them.
void check_training(const json& golden, MovingVariance moving_variance, DType dtype) {
  BatchNormalization layer({.moving_variance = moving_variance});
  const Tensor first = read_tensor(golden.at("step0").at("x"), dtype);
  layer.build(first.shape().tail(1), {.dtype = dtype, .backend = &backend("cpu")});
  Variable gamma = find_parameter(layer, "gamma").variable, beta = find_parameter(layer, "beta").variable;
  gamma.assign(read_tensor(golden.at("gamma"), dtype));
  beta.assign(read_tensor(golden.at("beta"), dtype));
  for (const char* name : {"step0", "step1", "step2"}) {
    SCOPED_TRACE(name);
    const json& step = golden.at(name);
    const Variable x = Variable::parameter(read_tensor(step.at("x"), dtype));
    gamma.zero_grad();
    beta.zero_grad();
    const Variable y = layer(x, {.training = true});
    y.backward(read_tensor(step.at("dy"), dtype));
    expect_near(y.value(), step.at("y"), 2e-6, "y");
    expect_near(x.grad(), step.at("dx"), 1e-5, "dx");
    expect_near(gamma.grad(), step.at("dgamma"), 1e-5, "dgamma");
    expect_near(beta.grad(), step.at("dbeta"), 1e-5, "dbeta");
    expect_near(find_parameter(layer, "moving_mean").variable.value(), step.at("moving_mean"), 1e-6, "mean");
    expect_near(find_parameter(layer, "moving_variance").variable.value(), step.at("moving_variance"), 1e-6,
                "variance");
  }
  const json& inference = golden.at("inference");
  expect_near(layer(read_tensor(inference.at("x"), dtype)).value(), inference.at("y"), 2e-6, "inference");
}

TEST(BatchNormalization, TrainsAsKeras3) {
  const json golden = read_golden("batchnorm_training_keras3.15.1.json");
  for (const DType dtype : {DType::f32, DType::f64})
    for (const char* kind : {"image", "vector"}) {
      SCOPED_TRACE(cat(kind, " ", dtype));
      check_training(golden.at(kind), MovingVariance::biased, dtype);
    }
}

TEST(BatchNormalization, TrainsAsKeras2) {
  const json golden = read_golden("batchnorm_training_keras2.15.0.json");
  for (const DType dtype : {DType::f32, DType::f64}) {
    check_training(golden.at("image"), MovingVariance::unbiased, dtype);
    check_training(golden.at("vector"), MovingVariance::biased, dtype);
  }
}

// Of one row there is no unbiased variance.
TEST(BatchNormalization, ABatchOfOneRowLeavesFiniteStatistics) {
  BatchNormalization layer({.moving_variance = MovingVariance::unbiased});
  layer.build({2}, in_f64());
  layer(f64_tensor({1, 2}, {3, -4}), {.training = true});
  expect_close(find_parameter(layer, "moving_mean").variable.value(), {0.03, -0.04}, 1e-12, "mean");
  expect_close(find_parameter(layer, "moving_variance").variable.value(), {0.99, 0.99}, 1e-12, "variance");
}

TEST(BatchNormalization, HasRightGradientsInBothModes) {
  for (const bool training : {true, false}) {
    BatchNormalization layer;
    layer.build({3, 2}, in_f64());
    randomize(layer);
    expect_module_gradients(layer, random_tensor({4, 3, 2}), {.training = training});
  }
}

TEST(BatchNormalization, HasKerasWeights) {
  BatchNormalization layer;
  layer.build({4, 4, 6}, in_f64());
  std::vector<std::string> names;
  std::vector<double> first;
  for (const Parameter& parameter : layer.parameters()) {
    names.push_back(parameter.name);
    first.push_back(parameter.variable.value().to_vector<double>()[0]);
    EXPECT_EQ(parameter.variable.shape(), (Shape{6}));
    EXPECT_EQ(parameter.trainable, parameter.variable.requires_grad());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"gamma", "beta", "moving_mean", "moving_variance"}));
  EXPECT_EQ(first, (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(layer.parameter_count(), 24);
  EXPECT_EQ(layer.parameter_count(true), 12);
}

TEST(BatchNormalization, CenterAndScaleAreOptional) {
  BatchNormalization layer({.center = false, .scale = false});
  layer.build({2}, in_f64());
  EXPECT_EQ(layer.parameters().size(), 2u);
  const Tensor x = random_tensor({50, 2}, 1, 3.0, 9.0);
  const std::vector<double> y = layer(x, {.training = true}).value().to_vector<double>();
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < y.size(); i += 2) {
    sum += y[i];
    squares += y[i] * y[i];
  }
  EXPECT_NEAR(sum / 50, 0.0, 1e-12);
  EXPECT_NEAR(squares / 50, 1.0, 1e-3);  // epsilon takes a little
}

TEST(BatchNormalization, FrozenOrEmptyLeavesStatisticsAlone) {
  BatchNormalization layer;
  layer.build({2}, in_f64());
  const auto moving_mean = [&] {
    return find_parameter(layer, "moving_mean").variable.value().to_vector<double>();
  };
  const Tensor x = random_tensor({5, 2}, 1, 3.0, 9.0);
  layer(Tensor::zeros({0, 2}, {.dtype = DType::f64, .backend = &backend("cpu")}), {.training = true});
  layer(x);
  EXPECT_EQ(moving_mean(), (std::vector<double>{0, 0}));
  layer.set_trainable(false);
  const std::vector<double> frozen = layer(x, {.training = true}).value().to_vector<double>();
  EXPECT_EQ(moving_mean(), (std::vector<double>{0, 0}));
  EXPECT_EQ(frozen, layer(x).value().to_vector<double>());
  layer.set_trainable(true);
  layer(x, {.training = true});
  EXPECT_NE(moving_mean(), (std::vector<double>{0, 0}));
}

TEST(BatchNormalization, NamesItselfInErrors) {
  EXPECT_THROW(BatchNormalization({.momentum = 1.5}), UsageError);
  BatchNormalization layer;
  layer.build({3});
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({2, 4}));
            }),
            "[batch_normalization] expects 3 channels, got an input of shape (2, 4)");
}

}  // namespace
}  // namespace ronde::test
