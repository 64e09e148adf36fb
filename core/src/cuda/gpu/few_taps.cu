// The gradient of the weights of small filters on few channels, as a first layer has them: 3x3 on pictures of 1 or 3.
// Libraries make products of matrices of it, of which one side is this small.
#include "cuda/gpu/direct_conv2d.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr int kFilters = kWarp, kRows = kThreads / kWarp;  // of a block: a warp's lanes are filters, its pixels are shared
constexpr Index kMostPieces = 528, kPixelsOfPiece = 128;
constexpr int kChunk = 32;  ///< pixels whose products are added up in float, before they go to a double

/// Where a tap reads, seen from a window's corner.
struct Tap {
  int y, x, offset;
};

template <int kTaps>
__device__ void find_taps(const Conv& p, Tap (&taps)[kTaps]) {
  const int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  if (i < kTaps) {
    const int c = static_cast<int>(p.c), kw = static_cast<int>(p.kw);
    const int y = i / (c * kw) * static_cast<int>(p.dilation_h), x = i / c % kw * static_cast<int>(p.dilation_w);
    taps[i] = {y, x, (y * static_cast<int>(p.w) + x) * c + i % c};
  }
  __syncthreads();
}

/// Adds the products of output pixel `at` with one filter's gradient `g`.
template <int kTaps, class T>
__device__ void add_pixel(const Conv& p, int count, int at, float g, const T* x, const Tap (&taps)[kTaps],
                          float (&sums)[kTaps]) {
  const int ow = static_cast<int>(p.ow), oh = static_cast<int>(p.oh), h = static_cast<int>(p.h), w = static_cast<int>(p.w);
  const int ox = at % ow, oy = at / ow % oh, n = at / (ow * oh);
  const int top = oy * static_cast<int>(p.stride_h) - static_cast<int>(p.top);
  const int left = ox * static_cast<int>(p.stride_w) - static_cast<int>(p.left);
  const Index corner = ((static_cast<Index>(n) * h + top) * w + left) * p.c;
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
    if (t >= count) break;
    const Tap tap = taps[t];
    const bool is_inside = static_cast<unsigned>(top + tap.y) < static_cast<unsigned>(h) &&
                           static_cast<unsigned>(left + tap.x) < static_cast<unsigned>(w);
    if (is_inside) sums[t] += g * wide(x[corner + tap.offset]);
  }
}

/// A piece of the pixels for kFilters filters: `partial` is (pieces, filters, taps).
template <int kTaps, class T>
__global__ void few_taps_kernel(Conv p, int count, double* partial, const T* grad_out, const T* x) {
  __shared__ Tap taps[kTaps];
  __shared__ double values[kRows][kFilters];
  find_taps(p, taps);
  const int filter = static_cast<int>(blockIdx.x) * kFilters + static_cast<int>(threadIdx.x);
  const Index pixels = p.n * p.oh * p.ow;
  const int begin = static_cast<int>(pixels * blockIdx.y / gridDim.y);
  const int end = static_cast<int>(pixels * (blockIdx.y + 1) / gridDim.y);
  double totals[kTaps] = {};
  for (int first = begin + static_cast<int>(threadIdx.y); first < end; first += kChunk * kRows) {
    float sums[kTaps] = {};
    for (int k = 0, at = first; k < kChunk && at < end; ++k, at += kRows) {
      const float g = filter < p.o ? wide(grad_out[at * p.o + filter]) : 0.0f;
      add_pixel(p, count, at, g, x, taps, sums);
    }
#pragma unroll
    for (int t = 0; t < kTaps; ++t) totals[t] += static_cast<double>(sums[t]);
  }
#pragma unroll
  for (int t = 0; t < kTaps; ++t) {
    if (t >= count) break;
    values[threadIdx.y][threadIdx.x] = totals[t];
    __syncthreads();
    double total = 0;
    for (int row = 0; threadIdx.y == 0 && row < kRows; ++row) total += values[row][threadIdx.x];
    if (threadIdx.y == 0 && filter < p.o) partial[(blockIdx.y * p.o + filter) * count + t] = total;
    __syncthreads();
  }
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
  const dim3 blocks(static_cast<unsigned>((p.o + kFilters - 1) / kFilters), static_cast<unsigned>(pieces));
  auto* sums = static_cast<double*>(partial);
  with_real(x.dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, double>) {
      const auto kernel = count <= 9 ? few_taps_kernel<9, T> : few_taps_kernel<32, T>;
      launch(kernel, blocks, dim3(kFilters, kRows), native(place.stream), p, count, sums, data<T>(grad_out), data<T>(x));
    }
  });
  run_bias_sum(weight, pieces, partial, place);
}

}  // namespace ronde::inline v0::cuda
