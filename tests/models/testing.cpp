#include "models/testing.h"

#include <algorithm>
#include <cmath>

namespace ronde::test {

std::string golden(const std::string& name) {
  return std::string(RONDE_TEST_DATA) + "/" + name;
}

InMemoryDataset small_images(std::int64_t count, int shift) {
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

std::unique_ptr<Sequential> small_net() {
  return std::make_unique<Sequential>(Conv2D({.filters = 4, .activation = Activation::relu}), MaxPooling2D(),
                                      Dropout(0.25), Flatten(),
                                      Dense({.units = 3, .activation = Activation::softmax}));
}

CompileOptions small_compile(double rate) {
  return {.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = rate}),
          .loss = std::make_unique<CategoricalCrossentropy>()};
}

Model small_model(ModelOptions options) {
  Model model(small_net(), {6, 6, 1}, options);
  model.compile(small_compile());
  return model;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = 0.0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

std::string printed(const std::function<void()>& f) {
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

}  // namespace ronde::test
