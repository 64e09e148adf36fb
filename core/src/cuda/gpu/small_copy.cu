#include "cuda/gpu/small_copy.h"

#include <cstdint>

#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

/// Reads of the host's memory take a microsecond or two: each thread has all of its own under way at once.
template <class T>
__global__ void copy_kernel(T* to, const T* from, unsigned count) {
  begin_kernel();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

template <class T>
void copy_as(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const auto count = static_cast<unsigned>(bytes / sizeof(T));
  launch(copy_kernel<T>, (count + kThreads - 1) / kThreads, kThreads, stream, static_cast<T*>(to),
         static_cast<const T*>(from), count);
}

}  // namespace

void copy_by_kernel(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;
  const std::uintptr_t bits =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  if (bits % sizeof(std::uint64_t) == 0)
    copy_as<std::uint64_t>(to, from, bytes, stream);
  else
    copy_as<unsigned char>(to, from, bytes, stream);
}

}  // namespace ronde::inline v0::cuda
