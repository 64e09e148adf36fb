/// Runs one kernel on every backend and compares it with the oracle: the "cpu" backend in f64.
///
///     compare({blank({4, 3})}, {random({4, 3}, 1)}, [&](Backend& b, Tensors out, Tensors in) {
///       b.unary(UnaryOp::relu, out[0], in[0], {});
///     });
///
/// Inputs are numbers that a float holds exactly, so all runs see the same; for bf16 they are rounded to it
/// first, for the oracle too. Each is run in f32, f64 and bf16 on every backend, with 1 to 3 threads; where
/// kernels are chosen (RONDE_ISA, variants.h), on those alone, in the types that they have. An
/// element may be off by a fraction of the largest
/// magnitude of its tensor: 2e-6 in f32 (some 30 units in the last place, for sums of up to a thousand
/// terms), 1e-13 in f64, 2^-8 and a little in bf16 (the result is rounded once).
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
  double bf16 = 0x1.02p-8;  ///< 0: the kernel takes no bf16
  double of(DType dtype) const { return dtype == DType::f64 ? f64 : dtype == DType::f32 ? f32 : bf16; }
};

Backend& oracle();

/// What is tested: all backends of the CPU, or what `$RONDE_TEST_BACKEND` names: a backend ("cuda"), a
/// variant (variants.h), or "variants": all that make a difference for the current test.
std::vector<Backend*> tested_backends();

/// Values in [low, high) on the oracle, f64.
Tensor random(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1);

/// An output whose every element has to be written.
Tensor blank(const Shape& shape, DType dtype = DType::f64);

/// The same after rounding to bf16: f64 tensors on the oracle.
Tensors rounded(const Tensors& tensors);

/// Copies on `backend`; f64 becomes `dtype`, other types stay.
Tensors copies(const Tensors& tensors, Backend& backend, DType dtype);

void expect_near_oracle(const Tensor& actual, const Tensor& expected, double tolerance);

/// Calls `body` for each backend, dtype and number of threads; restores one thread.
void for_each_setting(const std::function<void(Backend&, DType)>& body,
                      const std::vector<DType>& dtypes = {DType::f32, DType::f64});

void compare(const Tensors& outputs, const Tensors& inputs, const Kernel& kernel, Tolerance tolerance = {});

}  // namespace ronde::test
