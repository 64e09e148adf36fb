/// CUDA's errors as GpuErrors, and its handles behind the module's.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

inline void check_cuda(cudaError_t error, const char* doing) {
  if (error != cudaSuccess)
    throw GpuError(std::string(doing) + ": " + cudaGetErrorString(error), Outcome::failed);
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
