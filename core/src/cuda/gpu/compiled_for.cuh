/// What kernels do one way or another by the GPU that they are compiled for.
#pragma once

#include <cuda_runtime.h>

namespace ronde::inline v0::cuda {

/// Compute capability 9.0 is 900. A source of kernels is compiled for each GPU, which only the preprocessor
/// knows; here alone it is asked. For the host, and in the tests' emulation, it stands for any.
#ifdef __CUDA_ARCH__
constexpr int kCompiledFor = __CUDA_ARCH__;
#else
constexpr int kCompiledFor = 900;
#endif

/// Blocks that a multiprocessor shall have registers for, as a kernel's bounds have it: one fewer from
/// compute capability 10.0 on, for which the compiler would spill.
constexpr int blocks_at_once(int blocks) {
  return kCompiledFor >= 1000 ? blocks - 1 : blocks;
}

/// What each kernel does first: lets the next one of its stream be brought to the device, and waits for the
/// ones before, whose results it may read and whose operands it may write. Before this it may touch no
/// memory.
__device__ inline void begin_kernel() {
  if constexpr (kCompiledFor >= 900) {
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
  }
}

}  // namespace ronde::inline v0::cuda
