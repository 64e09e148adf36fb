/// What all kernels share: grids, types, strided views, sums within a block.
#pragma once

#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "cuda/gpu/compiled_for.cuh"
#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/kernels.h"

namespace ronde::inline v0::cuda {

using Index = long long;

constexpr int kThreads = 256;
constexpr int kWarp = 32;  ///< threads that exchange values without a barrier
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

/// Blocks for so many elements, one a thread; the kernels stride over the rest.
inline unsigned blocks_for(Index elements, int per_block = kThreads) {
  const Index blocks = (elements + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < 1 ? 1 : (blocks > 65535 ? 65535 : blocks));
}

__device__ inline Index first_element() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline Index element_step() {
  return static_cast<Index>(gridDim.x) * blockDim.x;
}

/// Whether kernels may be brought to the current device while those before them run: Note [Early kernels].
/// In architectures.cu.
bool may_be_early();

/// Enqueues a kernel; its arguments become what it takes. Every kernel goes by this.
template <class... Params>
void launch(void (*kernel)(Params...), dim3 blocks, dim3 threads, cudaStream_t stream,
            std::type_identity_t<Params>... args) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config{blocks, threads, 0, stream, &early, may_be_early() ? 1u : 0u};
  check_cuda(cudaLaunchKernelEx(&config, kernel, args...), "a kernel");
}

/// What is computed in where elements of type T are stored.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, __nv_bfloat16>, float, T>;

template <class T>
__device__ Arithmetic<T> wide(T element) {
  return static_cast<Arithmetic<T>>(element);
}
template <class T>
__device__ double wider(T element) {
  return static_cast<double>(wide(element));
}

/// A weight's element, or what stands for a weight that is not there.
template <class T>
__device__ double value_or(const T* values, Index c, double otherwise) {
  return values ? wider(values[c]) : otherwise;
}

/// The element that is nearest; ties go to even.
template <class T, class Value>
__device__ T rounded(Value value) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16_rn(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// Calls `f(float{})` or `f(double{})`.
template <class F>
void with_single_or_double(DType dtype, F&& f) {
  if (dtype == DType::f64)
    f(double{});
  else
    f(float{});
}

/// Calls `f` with a zero of the type in which a table of a data set is stored.
template <class F>
void with_stored(DType dtype, F&& f) {
  if (dtype == DType::u8)
    f(static_cast<unsigned char>(0));
  else if (dtype == DType::i32)
    f(0);
  else
    with_single_or_double(dtype, f);
}

/// Calls `f` with a zero of the type in which elements are stored.
template <class F>
void with_real(DType dtype, F&& f) {
  if (dtype == DType::bf16)
    f(__nv_bfloat16{});
  else
    with_single_or_double(dtype, f);
}

/// The same of two types, of which the second may be f32 where the first is bf16 and is the first otherwise.
template <class F>
void with_reals(DType dtype, DType beside, F&& f) {
  if (dtype == DType::bf16 && beside == DType::f32)
    f(__nv_bfloat16{}, float{});
  else
    with_real(dtype, [&]<class T>(T zero) { f(zero, zero); });
}

template <class T>
T* data(const Operand& x) {
  return static_cast<T*>(x.data);
}

/// The elements of N views of one shape, side by side.
template <int N>
struct Elements {
  Index count = 1;
  int rank = 0;
  bool dense = true;  ///< all views are: element i is at i
  Index shape[Operand::kMaxRank] = {};
  Index strides[N][Operand::kMaxRank] = {};

  __device__ void locate(Index i, Index (&at)[N]) const {
    for (int k = 0; k < N; ++k) at[k] = dense ? i : 0;
    if (dense) return;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const Index along = i % shape[axis];
      i /= shape[axis];
      for (int k = 0; k < N; ++k) at[k] += along * strides[k][axis];
    }
  }
};

template <int N>
Elements<N> elements(const Operand* const (&views)[N]) {
  Elements<N> result;
  const Operand& first = *views[0];
  result.count = first.count();
  result.rank = first.rank;
  Index dense = 1;
  for (int axis = first.rank - 1; axis >= 0; --axis) {
    const auto a = static_cast<std::size_t>(axis);
    result.shape[axis] = first.shape[a];
    for (int k = 0; k < N; ++k) {
      result.strides[k][axis] = views[k]->strides[a];
      if (first.shape[a] != 1 && views[k]->strides[a] != dense) result.dense = false;
    }
    dense *= first.shape[a];
  }
  return result;
}

/// The sum of a warp's values, in all its lanes.
__device__ inline double sum_warp(double value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

/// What all threads' values come to, in every thread; always combined in the same order. All threads call it.
template <class Combine>
__device__ double combine_block(double value, Combine combine) {
  __shared__ double values[kThreads / kWarp];
  const int me = threadIdx.x;
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  if (me % kWarp == 0) values[me / kWarp] = value;
  __syncthreads();
  double result = values[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / kWarp; ++warp) result = combine(result, values[warp]);
  __syncthreads();
  return result;
}

__device__ inline double sum_block(double value) {
  return combine_block(value, [](double a, double b) { return a + b; });
}

/// Whether a call's gate lets its kernel do what it is for.
__device__ inline bool is_open(const double* gate) {
  return !gate || *gate - *gate == 0;
}

/// Notes the first thing that is wrong. The threads that race for it are all of one device: of the whole
/// system, atomics on the host's memory are not to be had everywhere.
__device__ inline void complain(Complaint* complaint, Op op, Index value, Index row, Index limit) {
  if (atomicCAS(&complaint->is_set, 0, -1) != 0) return;
  complaint->op = static_cast<std::int32_t>(op);
  complaint->value = value;
  complaint->row = row;
  complaint->limit = limit;
  __threadfence_system();
  *static_cast<volatile std::int32_t*>(&complaint->is_set) = 1;
}

}  // namespace ronde::inline v0::cuda
