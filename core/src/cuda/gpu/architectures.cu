#include "cuda/gpu/architectures.h"

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

// All files of kernels are compiled for the same GPUs, so this one stands for the others.
__global__ void any_kernel() {}

constexpr int kEarly = 90;  // from here on kernels wait by themselves: begin_kernel()

constexpr int kArchitectures[] = {__CUDA_ARCH_LIST__};  // 800, 900: nvcc's own word

}  // namespace

cudaError_t find_kernel() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, any_kernel);
}

// Not by what the device is, but by what its kernels were compiled for, which on a newer one may be PTX.
bool may_be_early() {
  static std::atomic<std::uint64_t> known = 0, early = 0;  // a bit for each device
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= 64) return false;
  const std::uint64_t own = std::uint64_t{1} << device;
  if ((known & own) == 0) {
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, any_kernel), "what kernels were compiled for");
    if (attributes.ptxVersion >= kEarly) early |= own;
    known |= own;
  }
  return (early & own) != 0;
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
