/// CUDA's errors as GpuErrors, and its handles behind the module's.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

inline Outcome outcome_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return Outcome::ok;
    case cudaErrorNotReady:
      return Outcome::not_ready;
    case cudaErrorMemoryAllocation:
      return Outcome::out_of_memory;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureWrongThread:
    case cudaErrorCapturedEvent:
      return Outcome::refused;
    default:
      return Outcome::failed;
  }
}

inline void check_cuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  throw GpuError(std::string(doing) + ": " + cudaGetErrorString(error), outcome_of(error));
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
