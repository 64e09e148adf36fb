// Convolutions of floats as products of matrices that are read as tiles want them, without a copy: channels
// and filters by fours, one group. Exact to float's rounding, of the same bits each time.
#include <utility>

#include "cuda/gpu/tiled_conv2d.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr Index kMostCount = Index{1} << 29,
                kMostChannels = Index{1} << 20;  // what an int counts, and a grid
constexpr std::size_t kMostPartial = std::size_t{256} << 20;

template <class T>
__global__ void __launch_bounds__(T::kBlockThreads, kBlocks<T>)
    tiled_forward_kernel(Taps taps, int filters, float* out, const float* x, const float* weight,
                         const float* bias, bool relu) {
  begin_kernel();
  const int size = taps.kh * taps.kw * taps.channels;
  const int first_row = static_cast<int>(blockIdx.x) * T::kRows,
            first = static_cast<int>(blockIdx.y) * T::kColumns;
  PixelDepths<T> a(taps, x, first_row);
  FilterDepths<T> b(weight, filters, size, first);
  make_tile<T>(a, b, (size + T::kDepth - 1) / T::kDepth, [&](int row, int column, Quad quad) {
    row += first_row;
    column += first;
    if (row >= taps.results || column >= filters) return;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (bias) quad.at[k] += bias[column + k];
      if (relu && quad.at[k] <= 0) quad.at[k] = 0;
    }
    store_pack<4>(out + (row * filters + column), quad);
  });
}

/// `taps` are of grad_out, whose channels are filters.
template <class T>
__global__ void __launch_bounds__(T::kBlockThreads, kBlocks<T>)
    tiled_input_kernel(Taps taps, int channels, float* grad_x, const float* grad_out, const float* weight) {
  begin_kernel();
  const int size = taps.kh * taps.kw * taps.channels;
  const int first_row = static_cast<int>(blockIdx.x) * T::kRows,
            first = static_cast<int>(blockIdx.y) * T::kColumns;
  PixelDepths<T> a(taps, grad_out, first_row);
  ChannelDepths<T> b(weight, taps.channels, taps.kh * taps.kw, channels, first);
  make_tile<T>(a, b, (size + T::kDepth - 1) / T::kDepth, [&](int row, int column, const Quad& quad) {
    row += first_row;
    column += first;
    if (row < taps.results && column < channels) store_pack<4>(grad_x + (row * channels + column), quad);
  });
}

/// A pixel of the input meets the taps the other way round: it is at (y + top - ky * dilation) of the result.
Taps taps_of_input(const Conv& p) {
  Taps taps = taps_of(p);
  taps.results = static_cast<int>(p.n * p.h * p.w);
  std::swap(taps.result_h, taps.image_h);
  std::swap(taps.result_w, taps.image_w);
  taps.channels = static_cast<int>(p.o);
  taps.top = -taps.top;
  taps.left = -taps.left;
  taps.step_h = -taps.step_h;
  taps.step_w = -taps.step_w;
  return taps;
}

template <class T>
dim3 grid_of(const Taps& taps, int columns) {
  return {static_cast<unsigned>(tiles_of(taps.results, T::kRows)),
          static_cast<unsigned>(tiles_of(columns, T::kColumns))};
}

template <class T>
void run_forward(const Call& call, cudaStream_t stream) {
  const Conv p = conv_of(call[1], call[2], call[0], call.attributes.conv);
  const Taps taps = taps_of(p);
  const int filters = static_cast<int>(p.o);
  launch(tiled_forward_kernel<T>, grid_of<T>(taps, filters), T::kBlockThreads, stream, taps, filters,
         data<float>(call[0]), data<float>(call[1]), data<float>(call[2]), data<float>(call[3]),
         call.attributes.epilogue == Epilogue::relu);
}

template <class T>
void run_input(const Call& call, cudaStream_t stream) {
  const Conv p = conv_of(call[0], call[2], call[1], call.attributes.conv);
  const Taps taps = taps_of_input(p);
  const int channels = static_cast<int>(p.c);
  launch(tiled_input_kernel<T>, grid_of<T>(taps, channels), T::kBlockThreads, stream, taps, channels,
         data<float>(call[0]), data<float>(call[1]), data<float>(call[2]));
}

// Rows, columns, a thread's of both, depth of a stage, groups of threads.
using Large = Tile<64, 64, 8, 8, 16>;
using Narrow = Tile<64, 32, 8, 8, 16, 2>;
using Small = Tile<64, 32, 8, 4, 16, 2>;

/// Calls `f` with the tile for a result of so many rows and columns: the largest that leaves no
/// multiprocessor without blocks.
template <class F>
void with_tile(Index rows, Index columns, F&& f) {
  const auto fills = [&]<class T>(T) {
    return Index{tiles_of(rows, T::kRows)} * tiles_of(columns, T::kColumns) >= 3 * kMultiprocessors;
  };
  if (columns > 32 && fills(Large{}))
    f(Large{});
  else if (fills(Narrow{}))
    f(Narrow{});
  else
    f(Small{});
}

bool is_dense(const Operand& x) {
  return elements<1>({&x}).dense;
}

}  // namespace

bool has_tiled_conv2d(const Call& call) {
  const Conv2dParams& params = call.attributes.conv;
  if (params.groups != 1 || call.attributes.products == Products::rounded) return false;
  const bool is_by_weight = call.op == Op::conv2d_backward_weight;
  const Operand& weight = call[is_by_weight ? 0 : 2];
  for (int i = 0; i < call.operands; ++i) {
    const Operand& x = call[i];
    if (!x.defined || x.rank == 1) continue;  // a bias
    if (x.dtype != DType::f32 || x.count() == 0 || x.count() >= kMostCount) return false;
    if (x.shape[3] % 4 != 0 || x.shape[3] > kMostChannels) return false;
    if (!is_dense(x) || !begin_packs(data<float>(x))) return false;
  }
  if (weight.shape[0] % 4 != 0 || weight.shape[1] > kMostTiledWindow || weight.shape[2] > kMostTiledWindow)
    return false;
  if (is_by_weight) return tiled_conv2d_workspace(call) <= kMostPartial;
  if (call.op == Op::conv2d) return !call[3].defined || call[3].dtype == DType::f32;
  return call.op == Op::conv2d_backward_input && params.stride.h == 1 && params.stride.w == 1;
}

std::size_t tiled_conv2d_workspace(const Call& call) {
  return call.op == Op::conv2d_backward_weight ? tiled_by_weight_workspace(call) : 0;
}

void run_tiled_conv2d(const Call& call, void* workspace, const Place& place) {
  if (call.op == Op::conv2d_backward_weight) return run_tiled_by_weight(call, workspace, place);
  const Operand& out = call[0];
  with_tile(out.count() / out.shape[3], out.shape[3], [&]<class T>(T) {
    if (call.op == Op::conv2d)
      run_forward<T>(call, native(place.stream));
    else
      run_input<T>(call, native(place.stream));
  });
}

}  // namespace ronde::inline v0::cuda
