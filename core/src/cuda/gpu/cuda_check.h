/// Errors as GpuErrors, and CUDA's handles behind the module's.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/status_code.h"

namespace ronde::inline v0::cuda {

// They throw GpuError, out of sight: files of kernels compile faster without what it is made of.
[[noreturn]] void fail_cuda(cudaError_t error, const char* doing);
/// Of a call that a kernel is not for.
[[noreturn]] void refuse(const char* why);

inline void check_cuda(cudaError_t error, const char* doing) {
  if (error != cudaSuccess) fail_cuda(error, doing);
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

}  // namespace ronde::inline v0::cuda
