/// CUDA's runtime in RAII, for the module's own use.
#pragma once

#include <cstddef>

#include "cuda/gpu/cuda_check.h"

namespace ronde::inline v0::cuda {

/// One that can be timed.
class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreate(&event_), "an event"); }
  ~CudaEvent() { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaMemory {
 public:
  explicit CudaMemory(std::size_t bytes) {
    if (bytes > 0 && cudaMalloc(&memory_, bytes) != cudaSuccess)
      throw GpuError("no memory for trials", Outcome::out_of_memory);
  }
  ~CudaMemory() { cudaFree(memory_); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

}  // namespace ronde::inline v0::cuda
