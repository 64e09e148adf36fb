/// Helpers for the tests of core/: tensors with known contents, and comparison with values in double.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/philox.h>

namespace ronde::test {

using Values = std::vector<double>;

/// Values in [-1, 1), the same for the same seed.
Values random_values(std::int64_t count, std::uint64_t seed);

Tensor tensor(Backend& backend, const Shape& shape, const Values& values, DType dtype = DType::f64);

Tensor random_tensor(Backend& backend, const Shape& shape, DType dtype, std::uint64_t seed);

/// A tensor whose every element a kernel has to overwrite.
Tensor unwritten(Backend& backend, const Shape& shape, DType dtype);

double tolerance(DType dtype);

/// Each element differs by at most the dtype's tolerance, relative for values above 1.
void expect_close(const Tensor& actual, const Values& expected);

/// Runs a test in float and in double.
void for_each_real(const std::function<void(DType)>& body);

/// Expects an error whose text contains `part`.
template <class F>
void expect_error(F&& body, const std::string& part) {
  try {
    body();
    ADD_FAILURE() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace ronde::test
