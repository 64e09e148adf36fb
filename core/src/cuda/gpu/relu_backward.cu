// The gradient through a relu and perhaps a dropout behind it, and in the same pass the gradient of the bias
// in front of them.
#include "cuda/gpu/column_sums.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T>
struct PassPositive {
  T scale;
  __device__ T operator()(T grad_y, T y) const { return grad_y * (y > 0 ? scale : T(0)); }
};

template <class T>
__global__ void relu_backward_kernel(Index count, PassPositive<Arithmetic<T>> pass, T* grad_x,
                                     const T* grad_y, const T* y) {
  begin_kernel();
  for (Index i = first_element(); i < count; i += element_step())
    grad_x[i] = rounded<T>(pass(wide(grad_y[i]), wide(y[i])));
}

template <int N, class T>
struct Passing {
  Packed<T, N> grads, results;
};
constexpr int kRowsAtOnce = 3;  ///< of a thread

/// What is added up is not yet rounded.
template <int N, class T>
__global__ void __launch_bounds__(kThreads, blocks_at_once(4))
    relu_backward_sums_kernel(Index rows, Index channels, PassPositive<Arithmetic<T>> pass, T* grad_x,
                              double* partial, const T* grad_y, const T* y) {
  begin_kernel();
  const Index c = first_channel<N>();
  const Piece piece(rows);
  double totals[N];
  sum_rows_read_ahead<kRowsAtOnce, Arithmetic<T>>(
      piece.begin, c < channels ? piece.end : piece.begin, totals,
      [&](Index row) {
        const Index i = row * channels + c;
        return Passing<N, T>{Packed<T, N>::load(grad_y + i), Packed<T, N>::load(y + i)};
      },
      [&](Index row, const Passing<N, T>& loaded, Arithmetic<T>(&sums)[N]) {
        Pack<T, N> grads = loaded.grads.unpacked();
        const Pack<T, N> results = loaded.results.unpacked();
#pragma unroll
        for (int k = 0; k < N; ++k) {
          const Arithmetic<T> grad = pass(wide(grads.at[k]), wide(results.at[k]));
          sums[k] += grad;
          grads.at[k] = rounded<T>(grad);
        }
        store_pack<N>(grad_x + row * channels + c, grads);
      });
  store_piece(totals, partial, c, channels);
}

template <class T>
void run_with_bias(const Call& call, PassPositive<Arithmetic<T>> pass, const Place& place) {
  const Operand &grad_x = call[0], &bias = call[1], &partial = call[2], &grad_y = call[3], &y = call[4];
  const Index channels = bias.count(), pieces = partial.shape[0];
  if (channels == 0) return;
  with_packs<T>(channels, data<T>(grad_x), data<T>(grad_y), data<T>(y), [&]<int kN>(Lanes<kN>) {
    const ColumnGrid grid = column_grid<kN>(channels, pieces);
    launch(relu_backward_sums_kernel<kN, T>, grid.blocks, grid.threads, native(place.stream),
           y.count() / channels, channels, pass, data<T>(grad_x), data<double>(partial), data<T>(grad_y),
           data<T>(y));
  });
  run_bias_sum(bias, pieces, partial.data, place);
}

}  // namespace

void run_relu_backward(const Call& call, const Place& place) {
  const Operand &grad_x = call[0], &grad_y = call[3], &y = call[4];
  const Index count = y.count();
  const cudaStream_t stream = native(place.stream);
  with_real(y.dtype, [&]<class T>(T) {
    const PassPositive<Arithmetic<T>> pass{static_cast<Arithmetic<T>>(call.attributes.value)};
    if (call[1].defined) return run_with_bias<T>(call, pass, place);
    if (count == 0 ||
        map_packs(stream, count, pass, data<T>(grad_x), data<const T>(grad_y), data<const T>(y)))
      return;
    launch(relu_backward_kernel<T>, blocks_for(count), kThreads, stream, count, pass, data<T>(grad_x),
           data<T>(grad_y), data<T>(y));
  });
}

}  // namespace ronde::inline v0::cuda
