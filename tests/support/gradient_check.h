/// Compares the gradients that backward() finds with central differences, in f64 on the oracle backend.
///
///     expect_gradients([](const Variables& v) { return matmul(v[0], v[1]); },
///                      {random_tensor({2, 3}), random_tensor({3, 4})});
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/philox.h>
#include <ronde/core/variable.h>

#include "support/message_of.h"

namespace ronde::test {

using ronde::test::message_of;

using Variables = std::vector<Variable>;
using Function = std::function<Variable(const Variables&)>;

Tensor f64_tensor(const Shape& shape, const std::vector<double>& values);

/// A parameter of f64.
Variable leaf(const Shape& shape, const std::vector<double>& values);

Tensor i32_tensor(const std::vector<std::int32_t>& values);

/// Uniform in [low, high); f64 on "cpu".
Tensor random_tensor(const Shape& shape, std::uint64_t seed = 1, double low = -1.0, double high = 1.0);

/// The same elements with the axes in reverse order in memory.
Tensor strided_copy(const Tensor& x);

double dot(const Tensor& a, const Tensor& b);

void expect_close(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                  const std::string& what);

/// d dot(seed, f(inputs)) / d inputs[k], by central differences.
std::vector<double> numeric_gradient(const Function& f, const std::vector<Tensor>& inputs, std::size_t k,
                                     const Tensor& seed, double step);

/// How a function under test is run; each way must give the same gradients.
struct CheckMode {
  std::string name;
  bool strided_seed = false;  ///< the gradient arrives as a strided view
  bool bound = false;         ///< the leaves lie in an arena full of NaN
  int only = -1;              ///< the one input that requires a gradient; -1: all do
};

std::vector<Tensor> backward_gradients(const Function& f, const std::vector<Tensor>& inputs,
                                       const Tensor& seed, const CheckMode& mode);

struct CheckOptions {
  double step = 1e-5;
  double tolerance = 1e-7;
};

/// Checks every input's gradient, however the gradient of the result arrives, wherever it goes, and whatever
/// else is wanted.
void expect_gradients(const Function& f, const std::vector<Tensor>& inputs, CheckOptions options = {});

}  // namespace ronde::test
