// Nets of sequences with the names and layouts of PyTorch, whose layers are written out here.
#include <cmath>

#include <ronde/models/model.h>
#include <ronde/models/named_weights.h>
#include <ronde/nn/conv1d.h>
#include <ronde/nn/conv1d_transpose.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/depthwise_conv1d.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling1d.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/separable_conv1d.h>
#include <ronde/nn/sequential.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kSteps = 6, kIn = 2, kFilters = 3, kKernel = 2, kUnits = 4;

/// (channels, steps), as PyTorch has a sample.
struct Columns {
  std::int64_t steps;
  std::vector<float> values;
  float at(std::int64_t channel, std::int64_t step) const {
    return values[static_cast<std::size_t>(channel * steps + step)];
  }
};

Columns columns_of(const Tensor& sample) {
  return {sample.size(1),
          sample.reshape({sample.size(1), sample.size(2)}).permute({1, 0}).to_vector<float>()};
}

/// nn.Conv1d: weight (out, in, k)
Columns conv1d(const Columns& x, const Tensor& weight, const Tensor& bias) {
  const std::vector<float> w = weight.to_vector<float>(), b = bias.to_vector<float>();
  Columns y{x.steps - kKernel + 1, {}};
  for (std::int64_t o = 0; o < kFilters; ++o)
    for (std::int64_t t = 0; t < y.steps; ++t) {
      float sum = b[static_cast<std::size_t>(o)];
      for (std::int64_t i = 0; i < kIn; ++i)
        for (std::int64_t k = 0; k < kKernel; ++k)
          sum += w[static_cast<std::size_t>((o * kIn + i) * kKernel + k)] * x.at(i, t + k);
      y.values.push_back(sum);
    }
  return y;
}

/// nn.MaxPool1d(2)
Columns halved(const Columns& x, std::int64_t channels) {
  Columns y{x.steps / 2, {}};
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t t = 0; t < y.steps; ++t)
      y.values.push_back(std::max(x.at(c, 2 * t), x.at(c, 2 * t + 1)));
  return y;
}

/// nn.Linear: weight (out, in)
std::vector<float> linear(const std::vector<float>& x, const Tensor& weight, const Tensor& bias) {
  const std::vector<float> w = weight.to_vector<float>();
  std::vector<float> y = bias.to_vector<float>();
  for (std::size_t o = 0; o < y.size(); ++o)
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
  return y;
}

TEST(TorchSeries, GiveWhatPyTorchsLayersGive) {
  Model model(std::make_unique<Sequential>(Conv1D({.filters = kFilters, .kernel = kKernel}), ReLU(),
                                           MaxPooling1D(), Flatten(), Dense({.units = kUnits})),
              {kSteps, kIn});
  for (Parameter& weight : model.module().parameters())
    weight.variable.assign(random_tensor(weight.variable.shape(), 7).to(DType::f32));
  const NamedTensors torch = named_weights(model.module(), WeightNames::torch);
  EXPECT_EQ(torch.at("conv1d.weight").shape(), (Shape{kFilters, kIn, kKernel}));
  const Tensor x = random_tensor({1, kSteps, kIn}, 3).to(DType::f32);
  Columns features = conv1d(columns_of(x), torch.at("conv1d.weight"), torch.at("conv1d.bias"));
  for (float& value : features.values) value = std::max(value, 0.0f);
  const std::vector<float> expected =
      linear(halved(features, kFilters).values, torch.at("dense.weight"), torch.at("dense.bias"));
  const std::vector<float> output = model.predict(x).to_vector<float>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(output[i], expected[i], 1e-5) << i;

  const std::string before = model.weights_sha256();
  model.arena().values().fill(0.0);
  assign_named_weights(model.module(), torch);
  EXPECT_EQ(model.weights_sha256(), before);
}

TEST(TorchSeries, ATransposedConvolutionHasItsInputsFirst) {
  Conv1DTranspose up({.filters = 5, .kernel = 4, .name = "up"});
  up.build({6, 3});
  const Tensor keras = named_weights(up).at("kernel");
  const Tensor torch = named_weights(up, WeightNames::torch).at("weight");
  EXPECT_EQ(keras.shape(), (Shape{4, 5, 3}));
  EXPECT_EQ(torch.shape(), (Shape{3, 5, 4}));
  EXPECT_EQ(torch.to_vector<float>(), keras.permute({2, 1, 0}).to_vector<float>());
}

// As nn.Conv1d with groups, and one with a kernel of 1 behind it.
TEST(TorchSeries, ADepthwiseKernelIsThatOfGroups) {
  Sequential net(SeparableConv1D({.filters = 5, .kernel = 4, .depth_multiplier = 2, .name = "both"}),
                 DepthwiseConv1D({.kernel = 2, .name = "one"}), Flatten(), Dense({.units = 2}));
  net.build({6, 3});
  const NamedTensors keras = named_weights(net), torch = named_weights(net, WeightNames::torch);
  EXPECT_EQ(torch.at("both.depthwise.weight").shape(), (Shape{6, 1, 4}));
  EXPECT_EQ(torch.at("both.depthwise.weight").to_vector<float>(),
            keras.at("both/depthwise_kernel").permute({1, 2, 0}).to_vector<float>());
  EXPECT_EQ(torch.at("both.pointwise.weight").shape(), (Shape{5, 6, 1}));
  EXPECT_EQ(torch.at("one.weight").shape(), (Shape{5, 1, 2}));
  // Behind it PyTorch has (channels, steps): 5 of 2.
  EXPECT_EQ(torch.at("dense.weight").to_vector<float>(),
            keras.at("dense/kernel").reshape({2, 5, 2}).permute({2, 1, 0}).to_vector<float>());
  net.parameters().front().variable.value().fill(0.0);
  assign_named_weights(net, torch);
  EXPECT_EQ(named_weights(net).at("both/depthwise_kernel").to_vector<float>(),
            keras.at("both/depthwise_kernel").to_vector<float>());
}

TEST(TorchSeries, AnEmbeddingGivesStepsFirstInPyTorchToo) {
  Sequential net(Embedding({.input_dim = 9, .output_dim = 3}), Flatten(), Dense({.units = 2}));
  net.build({4});
  EXPECT_EQ(named_weights(net, WeightNames::torch).at("dense.weight").to_vector<float>(),
            named_weights(net).at("dense/kernel").permute({1, 0}).to_vector<float>());
}

}  // namespace
}  // namespace ronde::test
