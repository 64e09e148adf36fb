/// Runs one kernel on every backend and compares it with the oracle: the "cpu" backend in f64.
///
///     compare({blank({4, 3})}, {random({4, 3}, 1)}, [&](Backend& b, Tensors out, Tensors in) {
///       b.unary(UnaryOp::relu, out[0], in[0], {});
///     });
///
/// Inputs are numbers that a float holds exactly, so all runs see the same. Each is run in f32 and f64 on
/// every backend with 1, 2 and 3 threads. An element may be off by a fraction of the largest magnitude of its
/// tensor: 2e-6 in f32 (some 30 units in the last place, for sums of up to a thousand terms), 1e-13 in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>

#include "core/testing.h"

namespace ronde::test {

using Tensors = std::vector<Tensor>;
using Kernel = std::function<void(Backend&, const Tensors& outputs, const Tensors& inputs)>;

struct Tolerance {
  double f32 = 2e-6;
  double f64 = 1e-13;
  double of(DType dtype) const { return dtype == DType::f64 ? f64 : f32; }
};

inline Backend& oracle() {
  return backend("cpu");
}

/// Values in [low, high) on the oracle, f64.
inline Tensor random(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  Values values = random_values(shape.count(), seed);
  for (double& v : values) v = static_cast<float>(low + (v + 1) / 2 * (high - low));
  return tensor(oracle(), shape, values);
}

/// An output whose every element has to be written.
inline Tensor blank(const Shape& shape, DType dtype = DType::f64) {
  return unwritten(oracle(), shape, dtype);
}

/// Copies on `backend`; f64 becomes `dtype`, other types stay.
inline Tensors copies(const Tensors& tensors, Backend& backend, DType dtype) {
  Tensors result;
  for (const Tensor& t : tensors) {
    if (!t.defined()) {
      result.emplace_back();
      continue;
    }
    const Tensor copy =
        Tensor::empty(t.shape(), {.dtype = t.dtype() == DType::f64 ? dtype : t.dtype(), .backend = &backend});
    copy.copy_from(t);
    result.push_back(copy);
  }
  return result;
}

inline void expect_near_oracle(const Tensor& actual, const Tensor& expected, double tolerance) {
  const Values got = actual.to_vector<double>(), want = expected.to_vector<double>();
  double largest = 0;
  for (const double v : want)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
    ASSERT_NEAR(got[i], want[i], tolerance * largest) << "element " << i << " of " << to_string(actual);
  }
}

/// Calls `body` for each backend, dtype and number of threads; restores one thread.
inline void for_each_setting(const std::function<void(Backend&, DType)>& body) {
  for (Backend* candidate : backends())
    for (const DType dtype : {DType::f32, DType::f64})
      for (const int threads : {1, 2, 3}) {
        SCOPED_TRACE(cat(candidate->name(), " ", dtype, ", ", threads, " threads"));
        candidate->threads().resize(threads);
        body(*candidate, dtype);
        candidate->threads().resize(1);
      }
}

inline void compare(const Tensors& outputs, const Tensors& inputs, const Kernel& kernel,
                    Tolerance tolerance = {}) {
  const Tensors expected = copies(outputs, oracle(), DType::f64);
  kernel(oracle(), expected, copies(inputs, oracle(), DType::f64));
  for_each_setting([&](Backend& backend, DType dtype) {
    const Tensors actual = copies(outputs, backend, dtype);
    kernel(backend, actual, copies(inputs, backend, dtype));
    for (std::size_t i = 0; i < actual.size(); ++i) {
      SCOPED_TRACE(cat("output ", i));
      if (actual[i].defined()) expect_near_oracle(actual[i], expected[i], tolerance.of(dtype));
    }
  });
}

}  // namespace ronde::test
