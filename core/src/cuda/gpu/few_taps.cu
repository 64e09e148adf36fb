// The gradient of the weights of small filters on few channels, as a first layer has them: 3x3 on pictures of 1 or 3.
// Libraries make products of matrices of it, of which one side is this small.
#include <cstdint>

#include "cuda/gpu/direct_conv2d.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr int kFilters = kWarp, kRows = kThreads / kWarp;  // of a block: a warp's lanes are filters, its pixels are shared
constexpr int kTaps = 9;  // of a block, which has registers for no more of them
constexpr Index kMostPieces = 3 * 132, kPixelsOfPiece = 128;  // an H100 has room for so many blocks
constexpr int kChunk = 32;  ///< pixels whose products are added up in float, before they go to a double

/// Where a tap reads, seen from a window's corner.
struct Tap {
  std::int16_t y, x;  // of windows and images below kMostSide
  int offset;
};
constexpr Index kMostSide = 1 << 14;
constexpr int kNowhere = -2 * kMostSide;  // of a tap that is none: outside of all images

/// Those from `first` on.
__device__ void find_taps(const Conv& p, int first, int count, Tap (&taps)[kTaps]) {
  const int me = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x), i = first + me;
  if (me < kTaps) {
    const int c = static_cast<int>(p.c), kw = static_cast<int>(p.kw);
    const int y = i / (c * kw) * static_cast<int>(p.dilation_h), x = i / c % kw * static_cast<int>(p.dilation_w);
    taps[me] = {static_cast<std::int16_t>(me < count ? y : kNowhere), static_cast<std::int16_t>(x),
                (y * static_cast<int>(p.w) + x) * c + i % c};
  }
  __syncthreads();
}

/// An output pixel, which goes on without a division.
struct OutputPixel {
  int n, y, x;

  __device__ OutputPixel(const Conv& p, int at) {
    const int ow = static_cast<int>(p.ow), oh = static_cast<int>(p.oh);
    n = at / (ow * oh);
    y = at / ow % oh;
    x = at % ow;
  }
  __device__ void go_on(const Conv& p, int pixels) {
    const int ow = static_cast<int>(p.ow), oh = static_cast<int>(p.oh);
    for (x += pixels; x >= ow; x -= ow) {
      if (++y < oh) continue;
      y = 0;
      ++n;
    }
  }
};

/// Adds the products of an output pixel with one filter's gradient `g`. All reads come first, without a
/// branch: then they are under way together.
template <class T>
__device__ void add_pixel(const Conv& p, const OutputPixel& at, float g, const T* x, const Tap (&taps)[kTaps],
                          float (&sums)[kTaps]) {
  const int h = static_cast<int>(p.h), w = static_cast<int>(p.w);
  const int top = at.y * static_cast<int>(p.stride_h) - static_cast<int>(p.top);
  const int left = at.x * static_cast<int>(p.stride_w) - static_cast<int>(p.left);
  const int corner = ((at.n * h + top) * w + left) * static_cast<int>(p.c);
  float factors[kTaps], values[kTaps];
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
    const Tap tap = taps[t];
    const bool is_inside = static_cast<unsigned>(top + tap.y) < static_cast<unsigned>(h) &&
                           static_cast<unsigned>(left + tap.x) < static_cast<unsigned>(w);
    factors[t] = is_inside ? g : 0.0f;
    values[t] = is_inside ? static_cast<float>(wide(x[corner + tap.offset])) : 0.0f;
  }
#pragma unroll
  for (int t = 0; t < kTaps; ++t) sums[t] += factors[t] * values[t];
}

/// Sums of each thread: for a lane's filter, of the pixels of its row.
using Sums = double[kTaps][kRows][kFilters];

/// A lane's sums over its block's rows, to `partial`; all threads call it.
__device__ void add_rows(const Sums& sums, int count, bool is_filter, double* partial) {
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.y); is_filter && t < count; t += kRows) {
    double total = 0;
    for (int row = 0; row < kRows; ++row) total += sums[t][row][threadIdx.x];
    partial[t] = total;
  }
}

/// A piece of the pixels for kFilters filters and kTaps of their taps: `partial` is (pieces, filters, taps).
template <class T>
__global__ void __launch_bounds__(kThreads)
    few_taps_kernel(Conv p, int all_taps, double* partial, const T* grad_out, const T* x) {
  __shared__ Tap taps[kTaps];
  __shared__ Sums totals;
  const int first_tap = static_cast<int>(blockIdx.z) * kTaps;
  const int count = all_taps - first_tap < kTaps ? all_taps - first_tap : kTaps;
  find_taps(p, first_tap, count, taps);
  for (auto& of_tap : totals) of_tap[threadIdx.y][threadIdx.x] = 0;
  const int filter = static_cast<int>(blockIdx.x) * kFilters + static_cast<int>(threadIdx.x);
  const Index pixels = p.n * p.oh * p.ow;
  const int begin = static_cast<int>(pixels * blockIdx.y / gridDim.y);
  const int end = static_cast<int>(pixels * (blockIdx.y + 1) / gridDim.y);
  OutputPixel pixel(p, begin + static_cast<int>(threadIdx.y));
  for (int first = begin + static_cast<int>(threadIdx.y); first < end; first += kChunk * kRows) {
    float sums[kTaps] = {};
    for (int k = 0, at = first; k < kChunk && at < end; ++k, at += kRows) {
      const float g = filter < p.o ? wide(grad_out[at * p.o + filter]) : 0.0f;
      add_pixel(p, pixel, g, x, taps, sums);
      pixel.go_on(p, kRows);
    }
#pragma unroll
    for (int t = 0; t < kTaps; ++t) totals[t][threadIdx.y][threadIdx.x] += static_cast<double>(sums[t]);
  }
  add_rows(totals, count, filter < p.o, partial + (blockIdx.y * p.o + filter) * all_taps + first_tap);
}

Index pieces_of(const Operand& grad_out) {
  const Index pixels = grad_out.shape[0] * grad_out.shape[1] * grad_out.shape[2];
  const Index pieces = (pixels + kPixelsOfPiece - 1) / kPixelsOfPiece;
  return pieces < kMostPieces ? pieces : kMostPieces;
}

int taps_of(const Operand& weight) {
  return static_cast<int>(weight.shape[1] * weight.shape[2] * weight.shape[3]);
}

}  // namespace

bool has_few_taps(const Call& call) {
  constexpr Index kMost = Index{1} << 30;  // what an int counts
  if (call.op != Op::conv2d_backward_weight || call.attributes.conv.groups != 1) return false;
  const Operand &weight = call[0], &grad_out = call[2], &x = call[3];
  const Conv2dParams& params = call.attributes.conv;
  const auto is_small = [](Index side, Index window, Index dilation) {
    return side < kMostSide && window * dilation < kMostSide;
  };
  if (!is_small(x.shape[1], weight.shape[1], params.dilation.h) ||
      !is_small(x.shape[2], weight.shape[2], params.dilation.w))
    return false;
  if (x.dtype == DType::f64 || weight.count() == 0 || grad_out.count() == 0 || x.count() == 0) return false;
  return weight.shape[1] * weight.shape[2] * weight.shape[3] <= 32 && grad_out.count() < kMost && x.count() < kMost;
}

std::size_t few_taps_workspace(const Call& call) {
  return static_cast<std::size_t>(pieces_of(call[2]) * call[0].count()) * sizeof(double);
}

void run_few_taps(const Call& call, void* partial, const Place& place) {
  const Operand &weight = call[0], &grad_out = call[2], &x = call[3];
  const Conv p = conv_of(x, weight, grad_out, call.attributes.conv);
  const int count = taps_of(weight);
  const Index pieces = pieces_of(grad_out);
  const dim3 blocks(static_cast<unsigned>((p.o + kFilters - 1) / kFilters), static_cast<unsigned>(pieces),
                    static_cast<unsigned>((count + kTaps - 1) / kTaps));
  auto* sums = static_cast<double*>(partial);
  with_real(x.dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, double>) {
      launch(few_taps_kernel<T>, blocks, dim3(kFilters, kRows), native(place.stream), p, count, sums,
             data<T>(grad_out), data<T>(x));
    }
  });
  run_bias_sum(weight, pieces, partial, place);
}

}  // namespace ronde::inline v0::cuda
