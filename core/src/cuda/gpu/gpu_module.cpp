// The module libronde_cuda.so: what is there, and how to open it.
#include <cstdio>
#include <cstring>
#include <string>

#include "cuda/gpu/answer.h"
#include "cuda/gpu/architectures.h"
#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/gpu_runtime.h"
#include "cuda/gpu/rank_collectives.h"
#include "cuda/module.h"

namespace ronde::inline v0::cuda {
namespace {

template <std::size_t n>
void append(char (&text)[n], const std::string& more) {
  const std::size_t length = std::strlen(text);
  more.copy(text + length, n - length - 1);  // zeros follow
}

Status look(ModuleFacts* facts) {
  const std::size_t cudnn = cudnnGetVersion(), cublas = cublasLtGetVersion();
  std::snprintf(facts->versions, sizeof facts->versions,
                "CUDA %d.%d, cuDNN %zu.%zu.%zu, cuBLASLt %zu.%zu.%zu", CUDART_VERSION / 1000,
                CUDART_VERSION % 1000 / 10, cudnn / 10000, cudnn / 100 % 100, cudnn % 100, cublas / 10000,
                cublas / 100 % 100, cublas % 100);
  const std::string ranks = collectives_version();
  if (!ranks.empty()) append(facts->versions, ", " + ranks);
  append(facts->versions, ", kernels for compute capability " + architectures());
  append(facts->no_collectives, why_no_collectives());
  cudaError_t error = cudaDriverGetVersion(&facts->driver);
  if (error == cudaSuccess && facts->driver == 0)
    return answer(Outcome::unsupported, "libcuda.so.1 was not found");
  if (error == cudaSuccess) error = cudaGetDeviceCount(&facts->devices);
  if (error == cudaSuccess) return {};
  if (error == cudaErrorInsufficientDriver) facts->driver = 0;
  facts->devices = 0;
  return answer(Outcome::unsupported, cudaGetErrorString(error));
}

Status describe(int device, DeviceFacts* facts) {
  try {
    *facts = facts_of(device);
    return {};
  } catch (const GpuError& error) {
    return answer(Outcome::unsupported, error.what());
  }
}

Status open(int device, Runtime** runtime) {
  try {
    *runtime = new GpuRuntime(device);
    return {};
  } catch (const GpuError& error) {
    return answer(Outcome::unsupported, error.what());
  }
}

void close(Runtime* runtime) {
  delete runtime;
}

}  // namespace
}  // namespace ronde::inline v0::cuda

extern "C" __attribute__((visibility("default"))) const ronde::cuda::Module* ronde_cuda_module() {
  static const ronde::cuda::Module module{.look = ronde::cuda::look,
                                          .describe = ronde::cuda::describe,
                                          .open = ronde::cuda::open,
                                          .close = ronde::cuda::close};
  return &module;
}
