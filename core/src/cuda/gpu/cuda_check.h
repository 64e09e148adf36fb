/// CUDA's errors as GpuErrors, and its handles behind the module's.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/status_code.h"

namespace ronde::inline v0::cuda {

/// Throws GpuError. Elsewhere, as kernels compile faster without what a text needs.
[[noreturn]] void fail_cuda(cudaError_t error, const char* doing);

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
