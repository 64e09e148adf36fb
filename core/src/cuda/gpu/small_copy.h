/// Copies of a few bytes between the device and pinned memory of the host.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace ronde::inline v0::cuda {

/// Up to here a kernel is faster: on an H200 a kernel stands 5 us behind a copy engine, and a copy as long
/// behind a kernel.
constexpr std::size_t kMostBytesByKernel = 16 << 10;

/// By a kernel; one side may be memory of `cudaHostAlloc`.
void copy_by_kernel(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace ronde::inline v0::cuda
