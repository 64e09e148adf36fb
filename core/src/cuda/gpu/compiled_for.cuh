/// What kernels do one way or another by the GPU that they are compiled for.
#pragma once

#include <cuda_runtime.h>

namespace ronde::inline v0::cuda {

/// The number that a text is, or `otherwise`.
constexpr int number_or(const char* text, int otherwise) {
  int number = 0;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9') return otherwise;
    number = 10 * number + (*text - '0');
  }
  return number;
}

#define RONDE_TEXT_OF(words) #words
#define RONDE_TEXT_OF_VALUE(macro) RONDE_TEXT_OF(macro)

/// Compute capability 9.0 is 900. A source of kernels is compiled for each GPU, which only the preprocessor
/// knows, by this macro; here alone it is asked. For the host, and in the tests' emulation, there is none and
/// its name is left: then it stands for any.
constexpr int kCompiledFor = number_or(RONDE_TEXT_OF_VALUE(__CUDA_ARCH__), 900);

/// Blocks that a multiprocessor shall have registers for, as a kernel's bounds have it: one fewer from
/// compute capability 10.0 on, for which the compiler would spill.
constexpr int blocks_at_once(int blocks) {
  return kCompiledFor >= 1000 ? blocks - 1 : blocks;
}

/// Note [Early kernels]: compiled for compute capability 9.0 or more, a kernel may be brought to the device
/// while those before it on its stream run (`launch`). So this is what each kernel does first: it lets the
/// next one come, and waits for the ones before, whose results it may read and whose operands it may write.
/// Before this it may touch no memory. On an H200 steps were 9 to 15 % faster for it. The tests' emulation
/// ends a kernel that does not wait.
__device__ inline void begin_kernel() {
  if constexpr (kCompiledFor >= 900) {
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
  }
}

}  // namespace ronde::inline v0::cuda
