/// Small nets and data sets for the tests of models.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include <ronde/core/backend.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/model.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

namespace ronde::testing {

inline std::string golden(const std::string& name) {
  return std::string(RONDE_TEST_DATA) + "/" + name;
}

/// Images (6, 6, 1) whose class (0, 1, 2) shows in their brightness.
inline InMemoryDataset small_images(std::int64_t count, int shift = 0) {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>((i * 7 + shift) % 3);
    labels.push_back(label);
    for (int k = 0; k < 36; ++k)
      pixels.push_back(
          static_cast<float>(0.3 * label + 0.5 * std::sin(0.37 * static_cast<double>(i) + 0.9 * k + shift)));
  }
  return {Tensor::from<float>({count, 6, 6, 1}, pixels), Tensor::from<std::int32_t>({count}, labels)};
}

/// 4 * 9 + 4 + 16 * 3 + 3 = 91 weights.
inline std::unique_ptr<Sequential> small_net() {
  return std::make_unique<Sequential>(Conv2D({.filters = 4, .activation = Activation::relu}), MaxPooling2D(),
                                      Dropout(0.25), Flatten(),
                                      Dense({.units = 3, .activation = Activation::softmax}));
}

inline CompileOptions small_compile(double rate = 0.01) {
  return {.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = rate}),
          .loss = std::make_unique<CategoricalCrossentropy>()};
}

inline Model small_model(ModelOptions options = {}) {
  Model model(small_net(), {6, 6, 1}, options);
  model.compile(small_compile());
  return model;
}

/// What is written to stdout while `f` runs.
template <class F>
std::string printed(F&& f) {
  ::testing::internal::CaptureStdout();
  try {
    f();
  } catch (...) {
    ::testing::internal::GetCapturedStdout();
    throw;
  }
  std::fflush(stdout);
  return ::testing::internal::GetCapturedStdout();
}

/// The text of the `E` that `f` throws.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
  return "no error";
}

}  // namespace ronde::testing
