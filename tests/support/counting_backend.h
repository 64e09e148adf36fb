/// A backend that counts what it has handed out.
#pragma once

#include <algorithm>

#include "backend/cpu/cpu_backend.h"

namespace ronde::test {

class CountingBackend : public CpuBackend {
 public:
  void* allocate(std::size_t bytes) override {
    live += bytes;
    most = std::max(most, live);
    return CpuBackend::allocate(bytes);
  }
  void deallocate(void* memory, std::size_t bytes) noexcept override {
    live -= bytes;
    CpuBackend::deallocate(memory, bytes);
  }

  std::size_t live = 0, most = 0;  ///< bytes
};

}  // namespace ronde::test
