/// What Ronde's kernels use of CUDA's header of this name, on the CPU: with this folder before the toolkit's,
/// a file of kernels is plain C++. What is missing here, no kernel has needed yet.
#pragma once

#include <math.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <utility>

#include "cuda/emulated/grid.h"

#define __global__
#define __host__
#define __device__
#define __launch_bounds__(...)
#define __shared__ static thread_local  // the blocks of a thread of the host run one after the other

#define gridDim (ronde::test::at_work().of->grid)
#define blockDim (ronde::test::at_work().of->threads)
#define blockIdx (ronde::test::at_work().of->block)
#define threadIdx (ronde::test::at_work().thread)

using dim3 = ronde::test::Dim3;
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorInvalidConfiguration = 9 };
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice = 3 };

inline const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorInvalidValue) return "memory that overlaps is copied";
  return error == cudaSuccess ? "no error" : "invalid configuration argument";
}

// Streams mean nothing here: what is enqueued is done at once.

/// A GPU lets overlapping memory pass, and what comes of it is undefined.
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                   cudaStream_t) {
  const auto *target = static_cast<const char*>(to), *source = static_cast<const char*>(from);
  if (target < source + bytes && source < target + bytes) return cudaErrorInvalidValue;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

namespace ronde::test {

template <class... Params, std::size_t... kIndices>
void call_kernel(void (*kernel)(Params...), void** arguments, std::index_sequence<kIndices...>) {
  kernel(*static_cast<Params*>(arguments[kIndices])...);
}

/// The limits that all GPUs share.
constexpr bool is_valid(dim3 blocks, dim3 threads) {
  constexpr std::uint64_t kMostThreads = 1024, kMostBlocks = (std::uint64_t{1} << 31) - 1;
  return threads.count() > 0 && threads.count() <= kMostThreads && threads.z <= 64 && blocks.count() > 0 &&
         blocks.x <= kMostBlocks && blocks.y <= 65535 && blocks.z <= 65535;
}

}  // namespace ronde::test

template <class... Params>
cudaError_t cudaLaunchKernel(void (*kernel)(Params...), dim3 blocks, dim3 threads, void** arguments,
                             std::size_t, cudaStream_t) {
  if (!ronde::test::is_valid(blocks, threads)) return cudaErrorInvalidConfiguration;
  ronde::test::run_grid(blocks, threads, [&] {
    ronde::test::call_kernel(kernel, arguments, std::index_sequence_for<Params...>{});
  });
  return cudaSuccess;
}

// Whoever is launched so has to begin with a wait for the kernels before it.

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 blocks, threads;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...), Args&&... args) {
  if (!ronde::test::is_valid(config->blocks, config->threads)) return cudaErrorInvalidConfiguration;
  ronde::test::run_waiting_grid(config->blocks, config->threads, [&] { kernel(args...); });
  return cudaSuccess;
}

inline void cudaTriggerProgrammaticLaunchCompletion() {}
inline void cudaGridDependencySynchronize() {
  ++ronde::test::at_work().of->waited;
}

inline void __syncthreads() {
  ronde::test::wait_for_block();
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, unsigned lanes) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = ronde::test::exchange_in_warp(mask, bits, ronde::test::lane() ^ lanes);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return ronde::test::vote_in_warp(mask, predicate != 0);
}

/// The place of the lowest bit, from 1; 0: there is none.
inline int __ffs(int value) {
  return __builtin_ffs(value);
}

inline void __threadfence_system() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline int atomicCAS(int* address, int expected, int desired) {
  std::atomic_ref(*address).compare_exchange_strong(expected, desired);
  return expected;
}

/// Sine and cosine of so many half turns.
inline double sinpi(double x) {
  return std::sin(x * std::numbers::pi);
}
inline double cospi(double x) {
  return std::cos(x * std::numbers::pi);
}

/// Towards zero; what does not fit becomes the nearest limit.
inline long long __double2ll_rz(double value) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (value >= kTwoTo63) return std::numeric_limits<long long>::max();
  if (value < -kTwoTo63) return std::numeric_limits<long long>::min();
  return static_cast<long long>(value);
}
