#include "models/testing.h"

#include <cmath>

#include <ronde/models/file_io.h>

#include "json/json.h"

namespace ronde::testing {

std::string golden(const std::string& name) {
  return std::string(RONDE_TEST_DATA) + "/" + name;
}

ConfigValue golden_record(const std::string& name) {
  return from_json(read_file(golden(name)));
}

std::vector<double> numbers(const ConfigValue& list) {
  std::vector<double> all;
  for (const ConfigValue& value : list.as_list()) {
    const std::vector<double> some =
        value.is_list() ? numbers(value) : std::vector<double>{value.as_double()};
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Tensor f64_tensor(const Shape& shape, const ConfigValue& list) {
  return Tensor::from<double>(shape, numbers(list), &backend("cpu"));
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

}  // namespace ronde::testing
