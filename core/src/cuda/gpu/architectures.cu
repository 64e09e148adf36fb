#include "cuda/gpu/architectures.h"

#include <cstdio>

#include <cuda_runtime.h>

namespace ronde::inline v0::cuda {

namespace {

// All files of kernels are compiled for the same GPUs, so this one stands for the others.
__global__ void any_kernel() {}

constexpr int kArchitectures[] = {__CUDA_ARCH_LIST__};  // 800, 900: nvcc's own word

}  // namespace

cudaError_t find_kernel() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, any_kernel);
}

std::string architectures() {
  std::string text;
  for (const int architecture : kArchitectures) {
    char one[16] = "";
    std::snprintf(one, sizeof one, "%d.%d", architecture / 100, architecture % 100 / 10);
    text += (text.empty() ? "" : ", ") + std::string(one);
  }
  return text;
}

}  // namespace ronde::inline v0::cuda
