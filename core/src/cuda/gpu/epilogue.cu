// What comes behind a product that was left in floats: bias, relu and dropout, and the result rounded.
#include "cuda/gpu/dropping.cuh"
#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class Real, class Bias>
struct Behind {
  const Bias* bias;  ///< nullptr: none
  bool has_relu;
  bool drops;
  Dropping<Real> dropping;
};

template <int N, class T, class Bias>
__device__ Pack<T, N> with_bias(const Pack<Arithmetic<T>, N>& x, const Behind<Arithmetic<T>, Bias>& behind,
                                Index channel) {
  using Real = Arithmetic<T>;
  const Pack<Bias, N> bias = behind.bias ? load_pack<N>(behind.bias + channel) : Pack<Bias, N>{};
  Pack<T, N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Real value = x.at[k] + wide(bias.at[k]);
    result.at[k] = rounded<T>(behind.has_relu && value <= 0 ? Real(0) : value);  // a NaN stays one
  }
  return result;
}

/// Rounded before and behind, as by two kernels.
template <int N, class T>
__device__ void drop(Pack<T, N>& values, const Dropping<Arithmetic<T>>& dropping, Index sample,
                     Index element) {
  Arithmetic<T> factors[N];
  draw_factors<N>(dropping, static_cast<int>(sample), element, factors);
#pragma unroll
  for (int k = 0; k < N; ++k) values.at[k] = rounded<T>(dropped(wide(values.at[k]), factors[k]));
}

/// A pack lies in one row: N divides the channels.
template <int N, class T, class Bias>
__global__ void epilogue_kernel(Index count, Index channels, T* out, const Arithmetic<T>* x,
                                Behind<Arithmetic<T>, Bias> behind) {
  begin_kernel();
  for (Index i = N * first_element(); i < count; i += N * element_step()) {
    const Index row = i / channels, channel = i - row * channels;
    Pack<T, N> values = with_bias<N, T>(load_pack<N>(x + i), behind, channel);
    if (behind.drops) drop(values, behind.dropping, row, channel);
    store_pack<N>(out + i, values);
  }
}

}  // namespace

void run_epilogue(const Call& call, const Operand& x, const Place& place) {
  const Operand &out = call[0], &bias = call[3];
  const Operand keys = call.operands > 4 ? call[4] : Operand();
  const Index count = out.count(), channels = out.shape[1];
  with_reals(out.dtype, bias.defined ? bias.dtype : out.dtype, [&]<class T, class Bias>(T, Bias) {
    using Real = Arithmetic<T>;
    const Behind<Real, Bias> behind{bias.defined ? data<Bias>(bias) : nullptr,
                                    call.attributes.epilogue == Epilogue::relu,
                                    keys.defined,
                                    {call.attributes.dropout, keys}};
    const auto launch_for = [&]<int kN>(Lanes<kN>) {
      launch(epilogue_kernel<kN, T, Bias>, blocks_for_packs<kN>(count), kThreads, native(place.stream), count,
             channels, data<T>(out), data<Real>(x), behind);
    };
    constexpr int kN = pack_size<T, Bias>();
    const bool by_packs = channels % kN == 0 && begin_packs(data<T>(out), data<Real>(x), behind.bias);
    by_packs ? launch_for(Lanes<kN>{}) : launch_for(Lanes<1>{});
  });
}

}  // namespace ronde::inline v0::cuda
