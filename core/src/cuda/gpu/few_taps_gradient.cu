// The gradient of the weights of small filters on few channels.
#include "cuda/gpu/few_taps.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr int kTapsOfGradient = kTapsAtOnce;        // of a block, which has registers for no more of them
constexpr Index kMostPieces = 3 * 132;              // an H100 has room for so many blocks

/// Of the gradient, those of one thread.
using Sums = float[kTapsOfGradient][kQuad];
/// And those of a block's.
using AllSums = float[kTapsOfGradient][kQuad][kThreads];

/// The gradients of a quad of pixels.
template <class T>
using Gradients = Packed<T, kQuad>[kQuad];

template <int N, class T>
__device__ void load_gradients(const Share& share, int pixel, int end, int o, const T* grad_out,
                               Gradients<T>& grads) {
#pragma unroll
  for (int i = 0; i < kQuad; ++i)
    grads[i] = load_filters<N>(grad_out + (pixel + i) * o, share.filter, pixel + i < end ? o : 0);
}

template <class T>
__device__ void add_products(const Gradients<T>& grads, int quad, const Columns<kTapsOfGradient>& columns,
                             Sums& sums) {
#pragma unroll
  for (int t = 0; t < kTapsOfGradient; ++t) {
    const Quad values = columns[t][quad];
#pragma unroll
    for (int i = 0; i < kQuad * kQuad; ++i)
      sums[t][i % kQuad] +=
          static_cast<float>(wide(grads[i / kQuad].unpacked().at[i % kQuad])) * values.at[i / kQuad];
  }
}

/// The products of a block's pixels from `first` on. What can be is read before the wait for what taps read.
template <int N, class T>
__device__ void add_round(const Share& share, int first, int end, int o, const T* grad_out,
                          const Columns<kTapsOfGradient>& columns, Sums& sums) {
#pragma unroll 1
  for (int group = 0; group < kGroups; ++group) {
    Gradients<T> grads;
    const int quad = share.quad(group);
    load_gradients<N>(share, first + quad * kQuad, end, o, grad_out, grads);
    if (group == 0) __syncthreads();
    add_products<T>(grads, quad, columns, sums);
  }
}

/// The sum of a filter's over all streams. Filters side by side begin with different ones: those lie in
/// different banks.
__device__ inline double sum_streams(const AllSums& sums, int tap, int filter) {
  double total = 0;
#pragma unroll
  for (int stream = 0; stream < kStreams; stream += kQuad) {
    float part = 0;
#pragma unroll
    for (int k = 0; k < kQuad; ++k)
      part += sums[tap][filter % kQuad][(stream + (k + filter) % kQuad) * kLanes + filter / kQuad];
    total += static_cast<double>(part);
  }
  return total;
}

/// Adds up all threads' sums, to `partial` (filters, taps). All threads of a block call it.
__device__ inline void add_threads(const Sums& mine, AllSums& sums, int filters, int taps, int all_taps,
                                   bool is_first, double* partial) {
#pragma unroll
  for (int i = 0; i < kTapsOfGradient * kQuad; ++i)
    sums[i / kQuad][i % kQuad][threadIdx.x] = mine[i / kQuad][i % kQuad];
  __syncthreads();
  const int filter = static_cast<int>(threadIdx.x) % kFilters;
  if (filter < filters)
    for (int t = static_cast<int>(threadIdx.x) / kFilters; t < taps; t += kThreads / kFilters) {
      double& total = partial[static_cast<Index>(filter) * all_taps + t];
      total = sum_streams(sums, t, filter) + (is_first ? 0.0 : total);
    }
  __syncthreads();
}

/// A piece of the pixels, of so many rounds of kPixels, for kFilters filters and kTapsOfGradient of their
/// taps: `partial` is (pieces, filters, taps).
template <int N, class T>
__global__ void __launch_bounds__(kThreads, blocks_at_once(3))
    few_taps_gradient_kernel(Conv p, Pixels pixels, int all_taps, int rounds, double* partial,
                             const T* grad_out, const T* x) {
  begin_kernel();
  __shared__ Tap taps[kTapsOfGradient];
  __shared__ Columns<kTapsOfGradient> columns;
  __shared__ AllSums all_sums;
  const int first_tap = static_cast<int>(blockIdx.z) * kTapsOfGradient, o = static_cast<int>(p.o);
  find_taps(p, first_tap, all_taps - first_tap, taps);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const int first = (static_cast<int>(blockIdx.y) * rounds + round) * kPixels;
    find_columns(p, pixels, first + static_cast<int>(threadIdx.x), x, taps, kTapsOfGradient, columns);
    Sums sums = {};
    add_round<N>(Share(blockIdx.x), first, pixels.count, o, grad_out, columns, sums);
    const int first_filter = static_cast<int>(blockIdx.x) * kFilters, left = all_taps - first_tap;
    add_threads(sums, all_sums, o - first_filter, left < kTapsOfGradient ? left : kTapsOfGradient, all_taps,
                round == 0, partial + (blockIdx.y * p.o + first_filter) * all_taps + first_tap);
  }
}

/// How the pixels of a gradient are shared out.
struct Pieces {
  Index count;
  int rounds;  ///< of each
};

Pieces pieces_of(const Operand& grad_out) {
  const Index pixels = grad_out.shape[0] * grad_out.shape[1] * grad_out.shape[2];
  const Index rounds = (pixels + kMostPieces * kPixels - 1) / (kMostPieces * kPixels);
  return {(pixels + rounds * kPixels - 1) / (rounds * kPixels), static_cast<int>(rounds)};
}

}  // namespace

std::size_t few_taps_workspace(const Call& call) {
  if (call.op == Op::conv2d) return 0;
  return static_cast<std::size_t>(pieces_of(call[2]).count * call[0].count()) * sizeof(double);
}

void run_few_taps_gradient(const Call& call, double* partial, const Place& place) {
  const Operand &weight = call[0], &grad_out = call[2], &x = call[3];
  const Conv p = conv_of(x, weight, grad_out, call.attributes.conv);
  const int count = taps_of(weight);
  const Pieces pieces = pieces_of(grad_out);
  const dim3 blocks(groups_of_filters(p.o), static_cast<unsigned>(pieces.count),
                    static_cast<unsigned>((count + kTapsOfGradient - 1) / kTapsOfGradient));
  with_real(x.dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, double>)
      with_quads(p.o, data<T>(grad_out), [&]<int kN>(Lanes<kN>) {
        launch(few_taps_gradient_kernel<kN, T>, blocks, kThreads, native(place.stream), p, Pixels(p), count,
               pieces.rounds, partial, data<T>(grad_out), data<T>(x));
      });
  });
  run_bias_sum(weight, pieces.count, partial, place);
}

}  // namespace ronde::inline v0::cuda
