#include "cuda/gpu/cuda_check.h"

#include <string>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

void fail_cuda(cudaError_t error, const char* doing) {
  throw GpuError(std::string(doing) + ": " + cudaGetErrorString(error), Outcome::failed);
}

void refuse(const char* why) {
  throw GpuError(why);
}

}  // namespace ronde::inline v0::cuda
