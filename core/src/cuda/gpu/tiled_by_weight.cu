// The gradient of a weight as a product of matrices: filters by taps and their channels, each a sum over the
// result's pixels, which are shared out over the device by pieces. Exact to float's rounding, of the same
// bits each time.
#include <algorithm>

#include "cuda/gpu/tiled_conv2d.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr int kMostPixels = 4096;  // whose products are added up in float

/// By pieces of so many pixels: `partial` is (pieces, filters, taps and their channels).
template <class T>
__global__ void __launch_bounds__(T::kBlockThreads, kBlocks<T>)
    tiled_weight_kernel(Taps taps, int filters, int pixels, float* partial, const float* grad_out,
                        const float* x) {
  begin_kernel();
  const int size = taps.kh * taps.kw * taps.channels;
  const int first_row = static_cast<int>(blockIdx.y) * T::kRows,
            first = static_cast<int>(blockIdx.x) * T::kColumns;
  const int begin = static_cast<int>(blockIdx.z) * pixels;
  const int end = taps.results - begin < pixels ? taps.results : begin + pixels;
  GradientRows<T> a(grad_out, filters, begin, end, first_row);
  TapColumns<T> b(taps, x, begin, end, first);
  partial += static_cast<Index>(blockIdx.z) * filters * size;
  make_tile<T>(a, b, (end - begin + T::kDepth - 1) / T::kDepth, [&](int row, int column, const Quad& quad) {
    row += first_row;
    column += first;
    if (row < filters && column < size) store_pack<4>(partial + (row * size + column), quad);
  });
}

constexpr int kSumQuads = 16, kSumRows = kThreads / kSumQuads;

/// out = the sum of the pieces, four elements a column of threads.
__global__ void __launch_bounds__(kThreads)
    tiled_sum_kernel(int pieces, int quads, float* out, const float* partial) {
  begin_kernel();
  __shared__ double totals[kSumRows][kSumQuads][4];
  const int quad = static_cast<int>(blockIdx.x) * kSumQuads + static_cast<int>(threadIdx.x);
  double sums[4] = {};
#pragma unroll 4
  for (int piece = static_cast<int>(threadIdx.y); piece < pieces && quad < quads; piece += kSumRows) {
    const Quad values = load_pack<4>(partial + (static_cast<Index>(piece) * quads + quad) * 4);
#pragma unroll
    for (int k = 0; k < 4; ++k) sums[k] += static_cast<double>(values.at[k]);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) totals[threadIdx.y][threadIdx.x][k] = sums[k];
  __syncthreads();
  if (threadIdx.y >= 4 || quad >= quads) return;
  double total = 0;
  for (int row = 0; row < kSumRows; ++row) total += totals[row][threadIdx.x][threadIdx.y];
  out[quad * 4 + static_cast<int>(threadIdx.y)] = static_cast<float>(total);
}

/// The pixels of the result by pieces: as many as fill the device with blocks, and none too long.
struct Pieces {
  int count, pixels;
};

template <class T>
Pieces pieces_of(const Operand& weight, const Operand& grad_out) {
  const Index filters = weight.shape[0], pixels = grad_out.count() / filters;
  const Index tiles = Index{tiles_of(filters, T::kRows)} * tiles_of(weight.count() / filters, T::kColumns);
  const Index wanted =
      std::max<Index>({1, kBlocks<T> * kMultiprocessors / tiles, tiles_of(pixels, kMostPixels)});
  const int of_piece = tiles_of(tiles_of(pixels, static_cast<int>(wanted)), T::kDepth) * T::kDepth;
  return {tiles_of(pixels, of_piece), of_piece};
}

template <class T>
std::size_t weight_workspace(const Call& call) {
  const int pieces = pieces_of<T>(call[0], call[2]).count;
  return pieces == 1 ? 0 : static_cast<std::size_t>(pieces * call[0].count()) * sizeof(float);
}

template <class T>
void run_weight(const Call& call, void* workspace, cudaStream_t stream) {
  const Operand& weight = call[0];
  const Conv p = conv_of(call[3], weight, call[2], call.attributes.conv);
  const Pieces pieces = pieces_of<T>(weight, call[2]);
  const int filters = static_cast<int>(p.o);
  const dim3 blocks(static_cast<unsigned>(tiles_of(weight.count() / p.o, T::kColumns)),
                    static_cast<unsigned>(tiles_of(p.o, T::kRows)), static_cast<unsigned>(pieces.count));
  auto* partial = pieces.count == 1 ? data<float>(weight) : static_cast<float*>(workspace);
  launch(tiled_weight_kernel<T>, blocks, T::kBlockThreads, stream, taps_of(p), filters, pieces.pixels,
         partial, data<float>(call[2]), data<float>(call[3]));
  if (pieces.count == 1) return;
  const int quads = static_cast<int>(weight.count() / 4);
  launch(tiled_sum_kernel, static_cast<unsigned>(tiles_of(quads, kSumQuads)), dim3(kSumQuads, kSumRows),
         stream, pieces.count, quads, data<float>(weight), partial);
}

/// Calls `f` with the tile for so many filters; pieces fill the device.
template <class F>
void with_weight_tile(Index filters, F&& f) {
  if (filters > 32)
    f(Tile<64, 64, 8, 8, 16>{});
  else
    f(Tile<32, 64, 8, 8, 16, 2>{});
}

}  // namespace

std::size_t tiled_by_weight_workspace(const Call& call) {
  std::size_t bytes = 0;
  with_weight_tile(call[0].shape[0], [&]<class T>(T) { bytes = weight_workspace<T>(call); });
  return bytes;
}

void run_tiled_by_weight(const Call& call, void* workspace, const Place& place) {
  with_weight_tile(call[0].shape[0],
                   [&]<class T>(T) { run_weight<T>(call, workspace, native(place.stream)); });
}

}  // namespace ronde::inline v0::cuda
