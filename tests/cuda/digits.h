/// A small data set, a net for it, and whether two trainings of it end alike.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/model.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>

#include "cuda/fake_device.h"

namespace ronde::test {

inline InMemoryDataset digits() {
  const Values noise = random_values(40 * 64, 5);
  std::vector<float> pixels(noise.begin(), noise.end());
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < 40; ++i) {
    labels.push_back(i % 4);
    pixels[static_cast<std::size_t>(64 * i + 9 * (i % 4))] += 3.0f;
  }
  return {Tensor::from<float>({40, 8, 8, 1}, pixels), Tensor::from<std::int32_t>({40}, labels)};
}

inline std::unique_ptr<Sequential> digits_net() {
  return std::make_unique<Sequential>(Conv2D({.filters = 4, .activation = Activation::relu}),
                                      BatchNormalization(), MaxPooling2D(), Dropout(0.25), Flatten(),
                                      Dense({.units = 4, .activation = Activation::softmax}));
}

using ComputeDtype = std::optional<DType>;

/// Whose steps are long enough for a wrong gradient to be seen.
inline std::unique_ptr<Optimizer> digits_optimizer() {
  return std::make_unique<Adadelta>(AdadeltaOptions{.learning_rate = 1.0, .epsilon = 1e-3});
}

inline Model digits_model(Backend& backend, ComputeDtype compute_dtype) {
  Model model(digits_net(), {8, 8, 1}, {.seed = 3, .backend = &backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = digits_optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
  return model;
}

inline void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                        double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

}  // namespace ronde::test
