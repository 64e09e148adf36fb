// Nets like those of keras.applications on the fake device, in captured steps: the oracle's weights but for
// rounding.
#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/model.h>
#include <ronde/nn/sgd.h>

#include "cuda/fake_device.h"
#include "models/interop/random_application.h"

namespace ronde::test {
namespace {

InMemoryDataset noisy_images() {
  std::vector<float> pixels;
  for (const double value : random_values(16 * 9 * 9 * 2, 5)) pixels.push_back(static_cast<float>(value));
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < 16; ++i) labels.push_back(i % 4);
  return {Tensor::from<float>({16, 9, 9, 2}, pixels), Tensor::from<std::int32_t>({16}, labels)};
}

struct Outcome {
  std::vector<double> weights, predictions;
};

Outcome trained(Backend& backend, std::uint64_t seed, std::optional<DType> compute_dtype) {
  test::Dice dice(seed);
  Model model(
      test::random_application(dice, {.classes = 4, .repeatable = false, .keras3_only = seed % 2 == 0}),
      {9, 9, 2}, {.seed = 3, .backend = &backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05}),
                 .loss = std::make_unique<CategoricalCrossentropy>()});
  const InMemoryDataset data = noisy_images();
  model.fit(data, {.batch_size = 4, .verbose = 0});
  return {model.arena().values().to_vector<double>(),
          model.predict(data.inputs().slice(0, 0, 4)).to_vector<double>()};
}

void expect_all_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
}

void expect_oracles(std::uint64_t seed, std::optional<DType> compute_dtype) {
  const Outcome expected = trained(backend("cpu"), seed, compute_dtype);
  FakeDevice device({.seed = 7});
  const Outcome got = trained(device.backend, seed, compute_dtype);
  EXPECT_GE(device.runtime.replays(), 2);
  const double tolerance = compute_dtype ? 0x1p-7 : 1e-5;
  expect_all_near(got.weights, expected.weights, tolerance);
  expect_all_near(got.predictions, expected.predictions, tolerance);
}

// A kernel takes its time on the fake device: each net in one precision.
TEST(CudaApplication, TrainsAsTheOracle) {
  expect_oracles(0, {});
}

TEST(CudaApplication, InMixedPrecisionToo) {
  expect_oracles(1, DType::bf16);
}

}  // namespace
}  // namespace ronde::test
