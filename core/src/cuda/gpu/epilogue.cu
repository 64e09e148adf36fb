// What comes behind a product that was left in floats: bias and relu, and the result rounded.
#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <int N, class T, class Bias>
__device__ Pack<T, N> with_bias(const Pack<Arithmetic<T>, N>& x, const Pack<Bias, N>& bias, bool has_relu) {
  using Real = Arithmetic<T>;
  Pack<T, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Real value = x.at[k] + wide(bias.at[k]);
    result.at[k] = rounded<T>(has_relu && value <= 0 ? Real(0) : value);  // a NaN stays one
  }
  return result;
}

/// A pack lies in one row: N divides the channels.
template <int N, class T, class Bias>
__global__ void epilogue_kernel(Index count, Index channels, T* out, const Arithmetic<T>* x, const Bias* bias,
                                bool has_relu) {
  for (Index i = N * first_element(); i < count; i += N * element_step())
    store_pack<N>(out + i, with_bias<N, T>(load_pack<N>(x + i), load_pack<N>(bias + i % channels), has_relu));
}

template <int N, class T, class Bias>
void launch_epilogue(const Operand& out, const Operand& x, const Operand& bias, bool has_relu,
                     const Place& place) {
  const Index count = out.count();
  launch(epilogue_kernel<N, T, Bias>, blocks_for_packs<N>(count), kThreads, native(place.stream), count,
         bias.count(), data<T>(out), data<Arithmetic<T>>(x), data<Bias>(bias), has_relu);
}

}  // namespace

void run_epilogue(const Operand& out, const Operand& x, const Operand& bias, bool has_relu,
                  const Place& place) {
  with_reals(out.dtype, bias.dtype, [&]<class T, class Bias>(T, Bias) {
    constexpr int kN = pack_size<T, Bias>();
    const bool by_packs =
        bias.count() % kN == 0 && begin_packs(data<T>(out), data<Arithmetic<T>>(x), data<Bias>(bias));
    by_packs ? launch_epilogue<kN, T, Bias>(out, x, bias, has_relu, place)
             : launch_epilogue<1, T, Bias>(out, x, bias, has_relu, place);
  });
}

}  // namespace ronde::inline v0::cuda
