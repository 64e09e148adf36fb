#include "cuda/gpu/dropping.cuh"
#include "cuda/gpu/row_grid.cuh"

namespace ronde::inline v0::cuda {

namespace {

// A row is a sample.
template <int N, class T>
__global__ void dropout_kernel(int samples, int packs, Dropping<Arithmetic<T>> dropping, T* out, const T* x) {
  begin_kernel();
  for_each_in_rows(samples, packs, [&](int sample, int pack) {
    const Index element = static_cast<Index>(pack) * N;
    const Index i = static_cast<Index>(sample) * packs * N + element;
    Arithmetic<T> factors[N];
    draw_factors<N>(dropping, sample, element, factors);
    Pack<T, N> values = load_pack<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) values.at[k] = rounded<T>(dropped(wide(values.at[k]), factors[k]));
    store_pack<N>(out + i, values);
  });
}

}  // namespace

void run_dropout(const Call& call, const Place& place) {
  const Operand &out = call[0], &x = call[1];
  if (out.count() == 0) return;
  const DropoutParams& p = call.attributes.dropout;
  if (p.rate == 0) {
    Call copy = call;
    copy.op = Op::copy;
    return run_elementwise(copy, place);
  }
  const Index samples = x.shape[0], per_sample = x.count() / samples;
  with_real(out.dtype, [&]<class T>(T) {
    with_packs<T>(per_sample, data<T>(out), data<T>(x), nullptr, [&]<int kN>(Lanes<kN>) {
      const RowGrid grid = row_grid(samples, per_sample / kN);
      launch(dropout_kernel<kN, T>, grid.blocks, grid.threads, native(place.stream),
             static_cast<int>(samples), static_cast<int>(per_sample / kN),
             Dropping<Arithmetic<T>>(p, call[2]), data<T>(out), data<T>(x));
    });
  });
}

}  // namespace ronde::inline v0::cuda
