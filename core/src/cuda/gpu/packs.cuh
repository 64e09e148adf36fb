/// Neighbouring elements that a thread reads or writes at once: 16 bytes, as many as the memory gives by one
/// access. A kernel that takes one element of two bytes a thread does not reach the memory's speed.
///
/// Note [Packs]: what goes by packs. Streams of elements that are dense and begin at such an address, what is
/// left of them one by one (`for_each_pack`): casts, sums, relu and its gradient, a bias behind a product,
/// optimizers. Rows, where their length allows (`with_packs`): dropout, pooling, norms, the gradient of a
/// bias. Where an element is in its tensor costs a division of 64 bits, many instructions on a GPU: kernels
/// have it from rows and columns of the grid (row_grid.cuh, column_sums.cuh), or by a product with what the
/// host divided (divisor.cuh).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

constexpr int kPackBytes = 16;

template <class T, int N>
struct alignas(N * sizeof(T) < kPackBytes ? N * sizeof(T) : kPackBytes) Pack {
  T at[N];
};

/// Elements of a pack whose smallest type fills it; the others take two or more.
template <class... Ts>
constexpr int pack_size() {
  std::size_t smallest = kPackBytes;
  ((smallest = sizeof(Ts) < smallest ? sizeof(Ts) : smallest), ...);
  return static_cast<int>(kPackBytes / smallest);
}

template <int N, class T>
__device__ Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}
template <int N, class T>
__device__ void store_pack(T* to, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

using Quad = Pack<float, 4>;

/// A pack's bytes, in as few registers as they fill. Of a pack that is read where a condition holds, the
/// compiler gives each element a register, also one of two bytes.
template <class T, int N>
struct Packed {
  using Word = std::conditional_t<sizeof(Pack<T, N>) % 4 == 0, std::uint32_t, T>;
  alignas(alignof(Pack<T, N>)) Word words[sizeof(Pack<T, N>) / sizeof(Word)];

  __device__ static Packed load(const T* from) {
    Packed result;
    std::memcpy(&result, __builtin_assume_aligned(from, alignof(Packed)), sizeof result);
    return result;
  }
  __device__ Pack<T, N> unpacked() const { return std::bit_cast<Pack<T, N>>(*this); }
};

/// Whether packs may begin there; nullptr, for what is not wanted, does not count.
template <class... Ts>
bool begin_packs(const Ts*... elements) {
  return ((reinterpret_cast<std::uintptr_t>(elements) % kPackBytes == 0) && ...);
}

/// So many elements a thread, as a type.
template <int N>
using Lanes = std::integral_constant<int, N>;

/// Calls `f(Lanes<N>)` for rows of so many elements of T: by packs where these do not cross a row's end and
/// may begin in the tensors, else one by one.
template <class T, class F>
void with_packs(Index row, const T* a, const T* b, const T* c, const T* d, F&& f) {
  constexpr int kN = pack_size<T>();
  if (row % kN == 0 && begin_packs(a, b, c, d))
    f(Lanes<kN>{});
  else
    f(Lanes<1>{});
}
template <class T, class F>
void with_packs(Index row, const T* a, const T* b, const T* c, F&& f) {
  with_packs<T>(row, a, b, c, nullptr, f);
}

/// Blocks for so many elements by packs, and what is left of them one by one.
template <int N>
unsigned blocks_for_packs(Index elements) {
  return blocks_for((elements + N - 1) / N);
}

/// Calls `f(std::integral_constant<int, N>, i)` for packs from element i on, and with 1 for the few left.
template <int N, class F>
__device__ void for_each_pack(Index count, F&& f) {
  const Index packs = count / N;
  for (Index pack = first_element(); pack < packs; pack += element_step())
    f(std::integral_constant<int, N>{}, pack * N);
  for (Index i = packs * N + first_element(); i < count; i += element_step())
    f(std::integral_constant<int, 1>{}, i);
}

template <int N, class F, class Out, class... In>
__device__ Pack<Out, N> mapped(F f, const Pack<In, N>&... x) {
  Pack<Out, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.at[k] = rounded<Out>(f(wide(x.at[k])...));
  return result;
}

/// out = f(in...), element by element.
template <class F, class Out, class... In>
__global__ void map_kernel(Index count, F f, Out* out, const In*... in) {
  begin_kernel();
  for_each_pack<pack_size<Out, In...>()>(count, [&](auto n, Index i) {
    constexpr int kN = decltype(n)::value;
    store_pack<kN>(out + i, mapped<kN, F, Out>(f, load_pack<kN>(in + i)...));
  });
}

/// The same for dense tensors; false, and nothing is done, where one of them does not begin a pack.
template <class F, class Out, class... In>
bool map_packs(cudaStream_t stream, Index count, F f, Out* out, const In*... in) {
  if (!begin_packs(out, in...)) return false;
  launch(map_kernel<F, Out, In...>, blocks_for_packs<pack_size<Out, In...>()>(count), kThreads, stream, count,
         f, out, in...);
  return true;
}

}  // namespace ronde::inline v0::cuda
