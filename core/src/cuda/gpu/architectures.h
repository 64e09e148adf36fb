/// Which GPUs our own kernels are compiled for, and whether the current one is among them.
#pragma once

#include <string>

#include <cuda_runtime_api.h>

namespace ronde::inline v0::cuda {

/// Asks CUDA, which knows what else decides: a GPU of the same generation runs what an older one does, and
/// where there is PTX the driver compiles it, if it is not too old for that. cudaErrorNoKernelImageForDevice:
/// it cannot run them. Begins to use the GPU.
cudaError_t find_kernel();

/// "8.0, 9.0": compute capabilities.
std::string architectures();

}  // namespace ronde::inline v0::cuda
