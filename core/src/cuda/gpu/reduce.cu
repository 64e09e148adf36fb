// Reductions. Each result is made by one block, whose threads add in double and in an order that never
// varies.
#include <algorithm>
#include <limits>

#include "cuda/gpu/column_sums.cuh"

namespace ronde::inline v0::cuda {

namespace {

// Where the elements of one result lie: `kept` runs over the results, `reduced` over what one is made of.
struct Reduction {
  Elements<2> kept;     // out, x
  Elements<1> reduced;  // x
};

Reduction reduction_of(const Operand& out, const Operand& x) {
  Operand kept_x = x, reduced_x = x;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.rank); ++i) {
    const bool is_reduced = out.shape[i] != x.shape[i];
    (is_reduced ? kept_x : reduced_x).shape[i] = 1;
  }
  return {elements<2>({&out, &kept_x}), elements<1>({&reduced_x})};
}

__device__ double combined(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::max:
      return b > a || b != b ? b : a;
    case ReduceOp::min:
      return b < a || b != b ? b : a;
    default:
      return a + b;
  }
}

template <class T, class Out>
__global__ void reduce_kernel(Reduction r, Out* out, const T* x, ReduceOp op, double start, double scale) {
  begin_kernel();
  for (Index result = blockIdx.x; result < r.kept.count; result += gridDim.x) {
    Index at[2];
    r.kept.locate(result, at);
    double total = start;
    for (Index i = threadIdx.x; i < r.reduced.count; i += blockDim.x) {
      Index offset[1];
      r.reduced.locate(i, offset);
      total = combined(op, total, wider(x[at[1] + offset[0]]));
    }
    total = combine_block(total, [op](double a, double b) { return combined(op, a, b); });
    if (threadIdx.x == 0) out[at[0]] = rounded<Out>(total * scale);
  }
}

/// Dense tables (rows, channels) behind one another, whose rows are added up.
struct Tables {
  Index count = 1, rows = 1, channels = 1;
};

/// If a reduction is of such tables, and not so long that one block would be busy with it alone.
bool find_tables(const Operand& out, const Operand& x, Tables& tables) {
  constexpr Index kMostRows = 4096;
  int last = -1;  // the last axis that is reduced
  for (int i = 0; i < x.rank; ++i)
    if (out.shape[static_cast<std::size_t>(i)] != x.shape[static_cast<std::size_t>(i)]) last = i;
  Index dense = 1;  // stride of axis i of a dense x; the same for out, which has fewer
  Index dense_out = 1;
  bool is_outside = false;  // in front of the reduced axes
  for (int i = x.rank - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    const bool is_reduced = out.shape[axis] != x.shape[axis];
    if (x.shape[axis] > 1 && x.strides[axis] != dense) return false;
    if (out.shape[axis] > 1 && out.strides[axis] != dense_out) return false;
    dense *= x.shape[axis];
    dense_out *= out.shape[axis];
    if (is_reduced && is_outside) return false;
    if (i < last && !is_reduced && x.shape[axis] > 1) is_outside = true;
    (i > last ? tables.channels : is_reduced ? tables.rows : tables.count) *= x.shape[axis];
  }
  return tables.channels > 1 && tables.rows <= kMostRows;
}

template <int N, class T, class Out>
__global__ void table_sums_kernel(Tables of, Out* out, const T* x, double scale) {
  begin_kernel();
  const Index c = first_channel<N>();
  for (Index table = blockIdx.y; table < of.count; table += gridDim.y) {
    double totals[N] = {};
    sum_rows(0, of.rows, totals, [&](Index row, double(&sum)[N]) {
      if (c >= of.channels) return;
      const Pack<T, N> values = load_pack<N>(x + (table * of.rows + row) * of.channels + c);
#pragma unroll
      for (int k = 0; k < N; ++k) sum[k] += wider(values.at[k]);
    });
    if (threadIdx.y != 0 || c >= of.channels) continue;
    for (int k = 0; k < N; ++k) out[table * of.channels + c + k] = rounded<Out>(totals[k] * scale);
  }
}

template <class T>
__device__ Index index_of_maximum(const T* x, Index k) {
  Index best = 0;  // a NaN never wins
  Arithmetic<T> largest = wide(x[0]);
#pragma unroll 8
  for (Index i = 1; i < k; ++i) {
    const Arithmetic<T> value = wide(x[i]);
    if (!(value > largest)) continue;
    largest = value;
    best = i;
  }
  return best;
}

template <class T>
__global__ void argmax_kernel(Index rows, Index k, Index* out, const T* x) {
  begin_kernel();
  for (Index row = first_element(); row < rows; row += element_step())
    out[row] = index_of_maximum(x + row * k, k);
}

constexpr int kPacksAtOnce = 4;  ///< that a thread reads before it adds

// A block a piece: each sum is the same each time. The whole is one piece of one.
template <int N, class T>
__global__ void square_sums_kernel(Index count, double* out, const T* x) {
  begin_kernel();
  const Index pieces = gridDim.x, piece = blockIdx.x, packs = count / N;
  const Index end = packs * (piece + 1) / pieces;
  double total = 0;
#pragma unroll 1
  for (Index first = packs * piece / pieces + threadIdx.x; first < end; first += kPacksAtOnce * kThreads) {
    Pack<T, N> values[kPacksAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kPacksAtOnce; ++i)
      if (first + i * kThreads < end) values[i] = load_pack<N>(x + (first + i * kThreads) * N);
#pragma unroll
    for (int i = 0; i < kPacksAtOnce * N; ++i) {
      const double value = wider(values[i / N].at[i % N]);
      total += value * value;
    }
  }
  // What is left of the packs is the last piece's.
  const Index rest = packs * N + threadIdx.x;
  if (piece == pieces - 1 && rest < count) total += wider(x[rest]) * wider(x[rest]);
  total = sum_block(total);
  if (threadIdx.x == 0) out[piece] = total;
}

template <class T>
__global__ void count_correct_kernel(Index rows, Index k, Index* total, const T* scores, const int* labels,
                                     const double* gate) {
  begin_kernel();
  if (!is_open(gate)) return;
  double correct = 0;
  for (Index row = threadIdx.x; row < rows; row += blockDim.x)
    if (index_of_maximum(scores + row * k, k) == labels[row]) correct += 1;
  correct = sum_block(correct);
  if (threadIdx.x == 0) *total += static_cast<Index>(correct);
}

template <int N, class T>
__global__ void bias_pieces_kernel(Index rows, Index channels, double* partial, const T* grad) {
  begin_kernel();
  const Index c = first_channel<N>();
  const Piece piece(rows);
  double totals[N] = {};
  sum_rows(piece.begin, piece.end, totals, [&](Index row, double(&sum)[N]) {
    if (c >= channels) return;
    const Pack<T, N> grads = load_pack<N>(grad + row * channels + c);
#pragma unroll
    for (int k = 0; k < N; ++k) sum[k] += wider(grads.at[k]);
  });
  store_piece(totals, partial, c, channels);
}

constexpr int kColumns = 4;  // of a block that adds up pieces: as many doubles as the memory gives at once
constexpr int kPiecesAtOnce = 8;  ///< that a thread reads before it adds

/// A thread's share of a column's pieces.
__device__ inline double sum_share(Index pieces, Index channels, const double* column) {
  constexpr int kRows = kThreads / kColumns;
  double total = 0;
#pragma unroll 1
  for (Index first = threadIdx.x / kColumns; first < pieces; first += kRows * kPiecesAtOnce) {
    double values[kPiecesAtOnce];
#pragma unroll
    for (int k = 0; k < kPiecesAtOnce; ++k) {
      const Index piece = first + k * kRows;
      values[k] = column[(piece < pieces ? piece : pieces - 1) * channels];
    }
#pragma unroll
    for (int k = 0; k < kPiecesAtOnce; ++k) total += first + k * kRows < pieces ? values[k] : 0.0;
  }
  return total;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    bias_sum_kernel(Index pieces, Index channels, T* bias, const double* partial) {
  begin_kernel();
  __shared__ double sums[kThreads / kWarp][kColumns];
  const unsigned column = threadIdx.x % kColumns;
  const Index c = static_cast<Index>(blockIdx.x) * kColumns + column;
  double total = c < channels ? sum_share(pieces, channels, partial + c) : 0.0;
#pragma unroll
  for (int distance = kWarp / 2; distance >= kColumns; distance /= 2)
    total += __shfl_xor_sync(kAllLanes, total, distance);
  if (threadIdx.x % kWarp < kColumns) sums[threadIdx.x / kWarp][column] = total;
  __syncthreads();
  if (threadIdx.x >= kColumns || c >= channels) return;
  total = 0;
#pragma unroll
  for (const auto& of_warp : sums) total += of_warp[column];
  bias[c] = rounded<T>(total);
}

}  // namespace

std::size_t bias_workspace(std::int64_t rows, std::int64_t channels) {
  return static_cast<std::size_t>(pieces_of_rows(rows) * channels) * sizeof(double);
}

void run_bias_gradient(const Operand& bias, const Operand& grad_out, void* partial, const Place& place) {
  const Index channels = bias.count(), rows = channels == 0 ? 0 : grad_out.count() / channels;
  if (channels == 0) return;
  const Index pieces = pieces_of_rows(rows);
  const cudaStream_t stream = native(place.stream);
  auto* sums = static_cast<double*>(partial);
  with_real(grad_out.dtype, [&]<class T>(T) {
    with_packs<T>(channels, data<T>(grad_out), nullptr, nullptr, [&]<int kN>(Lanes<kN>) {
      const ColumnGrid grid = column_grid<kN>(channels, pieces);
      launch(bias_pieces_kernel<kN, T>, grid.blocks, grid.threads, stream, rows, channels, sums,
             data<T>(grad_out));
    });
  });
  run_bias_sum(bias, pieces, partial, place);
}

void run_bias_sum(const Operand& bias, std::int64_t pieces, const void* partial, const Place& place) {
  const Index channels = bias.count();
  const auto blocks = static_cast<unsigned>((channels + kColumns - 1) / kColumns);
  with_real(bias.dtype, [&]<class T>(T) {
    launch(bias_sum_kernel<T>, blocks, kThreads, native(place.stream), pieces, channels, data<T>(bias),
           static_cast<const double*>(partial));
  });
}

namespace {

void run_reduce(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &x = call[1];
  if (out.count() == 0) return;
  const Reduction r = reduction_of(out, x);
  const ReduceOp op = call.attributes.reduce;
  const double infinity = std::numeric_limits<double>::infinity();
  const double start = op == ReduceOp::max ? -infinity : op == ReduceOp::min ? infinity : 0.0;
  // Of no elements the mean is 0 * infinity, a NaN.
  const double scale = op == ReduceOp::mean ? 1.0 / static_cast<double>(r.reduced.count) : 1.0;
  Tables tables;
  const bool is_of_tables =
      (op == ReduceOp::sum || op == ReduceOp::mean) && x.count() > 0 && find_tables(out, x, tables);
  with_reals(x.dtype, out.dtype, [&]<class T, class Out>(T, Out) {
    if (is_of_tables)
      return with_packs<T>(tables.channels, data<T>(x), nullptr, nullptr, [&]<int kN>(Lanes<kN>) {
        constexpr Index kMostBlocks = 65535;
        const ColumnGrid grid = column_grid<kN>(tables.channels, std::min(tables.count, kMostBlocks));
        launch(table_sums_kernel<kN, T, Out>, grid.blocks, grid.threads, stream, tables, data<Out>(out),
               data<T>(x), scale);
      });
    launch(reduce_kernel<T, Out>, blocks_for(r.kept.count, 1), kThreads, stream, r, data<Out>(out),
           data<T>(x), op, start, scale);
  });
}

}  // namespace

void run_reduction(const Call& call, const Place& place) {
  const Operand &out = call[0], &x = call[1];
  const cudaStream_t stream = native(place.stream);
  if (call.op == Op::reduce) return run_reduce(call, stream);
  const auto last = static_cast<std::size_t>(x.rank > 0 ? x.rank - 1 : 0);
  const Index k = x.rank > 0 ? x.shape[last] : 1, rows = x.count() == 0 ? 0 : x.count() / k;
  with_real(x.dtype, [&]<class T>(T) {
    if (call.op == Op::argmax) {
      if (rows > 0)
        launch(argmax_kernel<T>, blocks_for(rows), kThreads, stream, rows, k, data<Index>(out), data<T>(x));
    } else if (call.op == Op::sum_of_squares || call.op == Op::square_sums) {
      const auto pieces = static_cast<unsigned>(out.count());
      const auto kernel =
          begin_packs(data<T>(x)) ? square_sums_kernel<pack_size<T>(), T> : square_sums_kernel<1, T>;
      launch(kernel, pieces, kThreads, stream, x.count(), data<double>(out), data<T>(x));
    } else {
      launch(count_correct_kernel<T>, 1, kThreads, stream, rows, k, data<Index>(out), data<T>(x),
             data<int>(call[2]), call.gate);
    }
  });
}

}  // namespace ronde::inline v0::cuda
