// Convolutions by small filters on few channels, as a first layer has them: 3x3 on pictures of 1 or 3.
// Libraries make products of matrices of it, of which one side is this small.
#include "cuda/gpu/few_taps.cuh"

namespace ronde::inline v0::cuda {

namespace {

using Filters = Quad[kMostTaps][kLanes];

/// The weights of a block's filters, by taps: read while what taps are is found, and then written.
struct Weights {
  static constexpr int kStep = kThreads / kFilters;
  int me = static_cast<int>(threadIdx.x) % kFilters, tap = static_cast<int>(threadIdx.x) / kFilters;
  float at[(kMostTaps + kStep - 1) / kStep];

  template <class F>
  __device__ void for_each(int count, F&& f) {
    int t = tap;
#pragma unroll
    for (float& value : at) {
      if (t < count) f(t, value);
      t += kStep;
    }
  }
  template <class T>
  __device__ void load(const T* weight, int count, int o) {
    const int filter = static_cast<int>(blockIdx.y) * kFilters + me;
    for_each(count, [&](int t, float& value) {
      value = filter < o ? static_cast<float>(wide(weight[filter * count + t])) : 0.0f;
    });
  }
  __device__ void store(int count, Filters& filters) {
    for_each(count, [&](int t, float value) { filters[t][me / kQuad].at[me % kQuad] = value; });
  }
};

template <int N, class T, class Bias>
__global__ void __launch_bounds__(kThreads)
    few_taps_kernel(Conv p, Pixels pixels, int count, bool relu, T* out, const T* x, const T* weight,
                    const Bias* bias) {
  begin_kernel();
  __shared__ Tap taps[kMostTaps];
  __shared__ Columns<kMostTaps> columns;
  __shared__ Filters filters;
  const Share share(blockIdx.y);
  const int o = static_cast<int>(p.o), first = static_cast<int>(blockIdx.x) * kPixels;
  float sums[kGroups][kQuad][kQuad];
#pragma unroll
  for (int f = 0; f < kQuad; ++f) {
    const float start =
        bias && share.filter + f < o ? static_cast<float>(wide(bias[share.filter + f])) : 0.0f;
    for (auto& group : sums)
      for (auto& of_pixel : group) of_pixel[f] = start;
  }
  Weights weights;
  weights.load(weight, count, o);
  find_taps(p, 0, count, taps);
  find_columns(p, pixels, first + static_cast<int>(threadIdx.x), x, taps, count, columns);
  weights.store(count, filters);
  __syncthreads();
#pragma unroll 3
  for (int t = 0; t < count; ++t) {
    const Quad factors = filters[t][share.lane];
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const Quad values = columns[t][share.quad(group)];
#pragma unroll
      for (int i = 0; i < kQuad * kQuad; ++i)
        sums[group][i / kQuad][i % kQuad] += values.at[i / kQuad] * factors.at[i % kQuad];
    }
  }
#pragma unroll
  for (int i = 0; i < kGroups * kQuad; ++i) {
    const int pixel = first + share.quad(i / kQuad) * kQuad + i % kQuad;
    if (pixel >= pixels.count) break;
    Pack<T, kQuad> results;
#pragma unroll
    for (int f = 0; f < kQuad; ++f) {
      const float sum = sums[i / kQuad][i % kQuad][f];
      results.at[f] = rounded<T>(relu && sum <= 0 ? 0.0f : sum);
    }
    store_filters<N>(out + pixel * o, share.filter, o, results);
  }
}

void run_forward(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &x = call[1], &weight = call[2], &bias = call[3];
  const Conv p = conv_of(x, weight, out, call.attributes.conv);
  const Pixels pixels(p);
  const dim3 blocks(static_cast<unsigned>((pixels.count + kPixels - 1) / kPixels), groups_of_filters(p.o));
  const bool relu = call.attributes.epilogue == Epilogue::relu;
  with_reals(x.dtype, bias.defined ? bias.dtype : x.dtype, [&]<class T, class Bias>(T, Bias) {
    if constexpr (!std::is_same_v<T, double>)
      with_quads(p.o, data<T>(out), [&]<int kN>(Lanes<kN>) {
        launch(few_taps_kernel<kN, T, Bias>, blocks, kThreads, stream, p, pixels, taps_of(weight), relu,
               data<T>(out), data<T>(x), data<T>(weight), data<Bias>(bias));
      });
  });
}

}  // namespace

bool has_few_taps(const Call& call) {
  constexpr Index kMost = Index{1} << 30;  // what an int counts
  constexpr Index kMostChannels = 4;
  constexpr Index kMostFilters = Index{65535} * kFilters;
  const bool is_forward = call.op == Op::conv2d;
  if ((!is_forward && call.op != Op::conv2d_backward_weight) || call.attributes.conv.groups != 1)
    return false;
  const Operand &weight = call[is_forward ? 2 : 0], &out = call[is_forward ? 0 : 2],
                &x = call[is_forward ? 1 : 3];
  // Of more channels tensor cores may make something.
  if (is_forward && x.shape[3] > kMostChannels) return false;
  const Conv2dParams& params = call.attributes.conv;
  const auto is_small = [](Index side, Index window, Index dilation) {
    return side < kMostSide && window * dilation < kMostSide;
  };
  if (!is_small(x.shape[1], weight.shape[1], params.dilation.h) ||
      !is_small(x.shape[2], weight.shape[2], params.dilation.w))
    return false;
  if (x.dtype == DType::f64 || weight.count() == 0 || out.count() == 0 || x.count() == 0) return false;
  return taps_of(weight) <= kMostTaps && weight.shape[0] <= kMostFilters && out.count() < kMost &&
         x.count() < kMost;
}

void run_few_taps(const Call& call, void* partial, const Place& place) {
  if (call.op == Op::conv2d)
    run_forward(call, native(place.stream));
  else
    run_few_taps_gradient(call, static_cast<double*>(partial), place);
}

}  // namespace ronde::inline v0::cuda
