/// CUDA's runtime in RAII, for the module's own use, and its handles behind the module's. Errors are
/// GpuErrors.
#pragma once

#include <cstddef>
#include <string>

#include <cuda_runtime_api.h>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

inline void check_cuda(cudaError_t error, const char* doing) {
  if (error != cudaSuccess) throw GpuError(std::string(doing) + ": " + cudaGetErrorString(error));
}

inline cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}
inline cudaEvent_t native(Event event) {
  return reinterpret_cast<cudaEvent_t>(event);
}
inline cudaGraphExec_t native(Graph graph) {
  return reinterpret_cast<cudaGraphExec_t>(graph);
}

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
    if (bytes > 0) check_cuda(cudaMalloc(&memory_, bytes), "memory");
  }
  ~CudaMemory() { cudaFree(memory_); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

}  // namespace ronde::inline v0::cuda
