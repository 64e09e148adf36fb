/// A backend over a fake device, and what tests of it need.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing.h"
#include "cuda/cuda_backend.h"
#include "cuda/fake/fake_runtime.h"

namespace ronde::test {

struct FakeDevice {
  FakeRuntime runtime;
  cuda::CudaBackend backend;

  explicit FakeDevice(FakeOptions options = {}, cuda::CudaBackendOptions wishes = {})
      : runtime(options), backend(runtime, wishes) {}
};

inline Tensor filled(Backend& backend, const Shape& shape, double value) {
  return Tensor::full(shape, value, {.backend = &backend});
}

inline std::vector<float> repeated(std::int64_t count, float value) {
  return std::vector<float>(static_cast<std::size_t>(count), value);
}

}  // namespace ronde::test
