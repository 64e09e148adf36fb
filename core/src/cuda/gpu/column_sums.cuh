/// Sums over the rows of a table (rows, channels), for each channel. A block has lanes, which take channels
/// side by side, N each, and rows of lanes below each other; several blocks share the rows by pieces.
#pragma once

#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

struct ColumnGrid {
  dim3 blocks, threads;
};

/// For N channels a lane, which divides them. `pieces` is what `blockIdx.y` runs over.
template <int N>
ColumnGrid column_grid(Index channels, Index pieces, unsigned most_lanes = 32) {
  const Index packs = channels / N;
  unsigned lanes = 1;
  while (lanes < most_lanes && lanes < packs) lanes *= 2;
  return {dim3(static_cast<unsigned>((packs + lanes - 1) / lanes), static_cast<unsigned>(pieces)),
          dim3(lanes, kThreads / lanes)};
}

/// For sums over pieces, which are few: fewer lanes, so that a thread has fewer pieces to wait for.
inline ColumnGrid grid_of_pieces(Index channels) {
  return column_grid<1>(channels, 1, 8);
}

/// The first of this thread's N channels; it may lie behind the last one.
template <int N>
__device__ Index first_channel() {
  return N * first_element();
}

/// Those of each thread of a block.
template <int kTotals>
using AllTotals = double[kTotals][kThreads];

__device__ inline unsigned thread_of_block() {
  return threadIdx.y * blockDim.x + threadIdx.x;
}

/// Adds up, in an order that never varies, the totals of all threads of a lane, for the uppermost of them.
/// All threads of a block call it, each behind writing its own.
template <int kTotals>
__device__ void add_up_lanes(AllTotals<kTotals>& values, double (&totals)[kTotals]) {
  const unsigned me = thread_of_block();
  __syncthreads();
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    if (threadIdx.y < half) {
#pragma unroll
      for (int k = 0; k < kTotals; ++k) values[k][me] += values[k][me + half * blockDim.x];
    }
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < kTotals; ++k) totals[k] = values[k][me];
}

/// Calls `add(row, totals)` for this thread's rows of [first, last) and adds up its lane's totals.
template <int kTotals, class Add>
__device__ void sum_rows(Index first, Index last, double (&totals)[kTotals], Add&& add) {
  __shared__ AllTotals<kTotals> values;
#pragma unroll 4
  for (Index row = first + threadIdx.y; row < last; row += blockDim.y) add(row, totals);
#pragma unroll
  for (int k = 0; k < kTotals; ++k) values[k][thread_of_block()] = totals[k];
  add_up_lanes(values, totals);
}

/// The same for what is read and written too: `load(row)` of kAtOnce rows comes first, so that all of it is
/// under way together, and `add(row, loaded, sums)` adds to sums of type Sum, which go to totals in shared
/// memory: a thread has registers for what it reads instead.
template <int kAtOnce, class Sum, int kTotals, class Load, class Add>
__device__ void sum_rows_read_ahead(Index first, Index last, double (&totals)[kTotals], Load&& load,
                                    Add&& add) {
  __shared__ AllTotals<kTotals> values;
  for (auto& of_threads : values) of_threads[thread_of_block()] = 0;
#pragma unroll 1
  for (Index next = first + threadIdx.y; next < last; next += kAtOnce * blockDim.y) {
    decltype(load(next)) loaded[kAtOnce] = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (next + k * blockDim.y < last) loaded[k] = load(next + k * blockDim.y);
    Sum sums[kTotals] = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (next + k * blockDim.y < last) add(next + k * blockDim.y, loaded[k], sums);
#pragma unroll
    for (int k = 0; k < kTotals; ++k) values[k][thread_of_block()] += static_cast<double>(sums[k]);
  }
  add_up_lanes(values, totals);
}

/// Rows [begin, end) of this block's piece.
struct Piece {
  Index begin, end;
  __device__ explicit Piece(Index rows)
      : begin(rows * blockIdx.y / gridDim.y), end(rows * (blockIdx.y + 1) / gridDim.y) {}
};

/// Leaves the sums of a lane's N channels with those of the other pieces, (pieces, channels).
template <int N>
__device__ void store_piece(const double (&totals)[N], double* partial, Index channel, Index channels) {
  if (threadIdx.y != 0 || channel >= channels) return;
#pragma unroll
  for (int k = 0; k < N; ++k) partial[blockIdx.y * channels + channel + k] = totals[k];
}

/// Two sums of a lane's N channels beside those of the other pieces; `sums` is (pieces, 2, channels).
template <int N>
__device__ void store_sums(double* sums, Index channels, Index c, const double (&totals)[2 * N]) {
  for (int k = 0; k < 2 * N; ++k) sums[(2 * blockIdx.y + k / N) * channels + c + k % N] = totals[k];
}

/// Both sums of a channel, for the block's uppermost threads.
__device__ inline void sum_pieces(double (&totals)[2], const double* sums, Index pieces, Index channels,
                                  Index c) {
  sum_rows(0, pieces, totals, [&](Index piece, double(&sum)[2]) {
    if (c >= channels) return;
    sum[0] += sums[2 * piece * channels + c];
    sum[1] += sums[(2 * piece + 1) * channels + c];
  });
}

}  // namespace ronde::inline v0::cuda
