// Nets of the layers that decoders have, on the fake device: the weights after a few steps are the oracle's.
#include <ronde/models/model.h>
#include <ronde/nn/conv2d_transpose.h>
#include <ronde/nn/cropping2d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/separable_conv2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>
#include <ronde/nn/up_sampling2d.h>

#include "cuda/fake_device.h"

namespace ronde::test {
namespace {

std::unique_ptr<Sequential> decoder() {
  return std::make_unique<Sequential>(
      SeparableConv2D({.filters = 4, .strides = {2, 2}, .activation = Activation::relu}),
      UpSampling2D({.interpolation = Interpolation::bilinear}),
      Conv2DTranspose({.filters = 3,
                       .strides = {2, 2},
                       .padding = Padding::same,
                       .output_padding = Size2d{1, 0},
                       .activation = Activation::relu}),
      Conv2DTranspose({.filters = 3, .kernel = {2, 2}, .dilation = {1, 2}}),
      Cropping2D({.top = 1, .right = 2}), UpSampling2D({.size = {1, 2}}),
      Conv2DTranspose({.filters = 2, .kernel = {2, 2}, .strides = {3, 1}, .activation = Activation::tanh}),
      GlobalAveragePooling2D());
}

struct DecoderOutcome {
  std::vector<double> weights, predictions;
};

// More steps than one, so that some are a graph.
DecoderOutcome train_decoder(Backend& backend, std::optional<DType> compute_dtype) {
  const Values noise = random_values(4 * 7 * 7 * 3, 5);
  const std::vector<float> pixels(noise.begin(), noise.end());
  const Tensor x = Tensor::from<float>({4, 7, 7, 3}, pixels), y = Tensor::full({4, 2}, 0.75);
  Model model(decoder(), {7, 7, 3}, {.seed = 3, .backend = &backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.5}),
                 .loss = std::make_unique<MeanSquaredError>()});
  for (int step = 0; step < 5; ++step) model.train_on_batch(x, y);
  return {model.arena().values().to_vector<double>(), model.predict(x).to_vector<double>()};
}

void expect_decoder_of_the_oracle(std::optional<DType> compute_dtype, double tolerance) {
  const DecoderOutcome expected = train_decoder(backend("cpu"), compute_dtype);
  FakeDevice device({.seed = 7});
  const DecoderOutcome got = train_decoder(device.backend, compute_dtype);
  const auto expect_near = [&](const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
  };
  expect_near(got.weights, expected.weights);
  expect_near(got.predictions, expected.predictions);
}

TEST(CudaDecoder, GivesTheWeightsOfTheOracle) {
  expect_decoder_of_the_oracle({}, 1e-5);
}

TEST(CudaDecoder, InMixedPrecisionToo) {
  expect_decoder_of_the_oracle(DType::bf16, 0x1p-7);
}

}  // namespace
}  // namespace ronde::test
