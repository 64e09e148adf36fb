/// Helpers of the tests in this folder.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/data/dataset.h>

namespace ronde::test {

template <class T>
Tensor host(const Shape& shape, const std::vector<T>& values) {
  return Tensor::from<T>(shape, values, &backend("cpu"));
}

/// Inputs and targets of some samples.
inline std::pair<Tensor, Tensor> read_samples(const Dataset& data, const std::vector<std::int64_t>& samples,
                                              DType dtype = DType::f32) {
  const auto memory = [&](const Shape& sample, DType type) {
    Shape shape{static_cast<std::int64_t>(samples.size())};
    for (const std::int64_t extent : sample) shape.push_back(extent);
    return Tensor::empty(shape, {type, &backend("cpu")});
  };
  const Tensor inputs = memory(data.input_shape(), dtype);
  const Tensor targets = memory(data.target_shape(), data.target_dtype());
  data.read(samples, inputs, targets);
  return {inputs, targets};
}

/// Runs `action`, which must throw an E whose message contains each of `parts` and is one line.
template <class E, class F>
void expect_error(F&& action, std::initializer_list<std::string> parts) {
  try {
    action();
    ADD_FAILURE() << "no error, expected one with: " << *parts.begin();
  } catch (const E& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << "missing: " << part << "\nmessage: " << message;
  }
}

}  // namespace ronde::test
