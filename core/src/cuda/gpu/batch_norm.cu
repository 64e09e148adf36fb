// Batch normalisation over the last axis. Sums are made in double, by pieces of the rows and then over these;
// elements are computed in the type of arithmetic, with a channel's numbers made in double once. A relu
// behind it gives the bits that it would give as a kernel of its own.
#include "cuda/gpu/column_sums.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr Index kRowsOfThread = 8;  // at least, if there are as many
constexpr Index kMostBlocks = 1024;

template <class Channels>
__device__ double value_or(const Channels* values, Index c, double otherwise) {
  return values ? wider(values[c]) : otherwise;
}

// `sums` is (pieces, 2, channels).
template <int N>
__device__ void store_sums(double* sums, Index channels, Index c, const double (&totals)[2 * N]) {
  for (int k = 0; k < 2 * N; ++k) sums[(2 * blockIdx.y + k / N) * channels + c + k % N] = totals[k];
}

// Both sums of a channel, for the block's uppermost threads.
__device__ void sum_pieces(double (&totals)[2], const double* sums, Index pieces, Index channels, Index c) {
  sum_rows(0, pieces, totals, [&](Index piece, double(&sum)[2]) {
    if (c >= channels) return;
    sum[0] += sums[2 * piece * channels + c];
    sum[1] += sums[(2 * piece + 1) * channels + c];
  });
}

// Of the distances from the first row and of their squares: a mean far from 0 costs no precision.
template <int N, class T>
__global__ void distances_kernel(Index rows, Index channels, double* sums, const T* x) {
  const Index c = first_channel<N>();
  const bool is_there = c < channels;
  Pack<T, N> first{};
  if (is_there && rows > 0) first = load_pack<N>(x + c);
  const Piece piece(rows);
  double totals[2 * N] = {};
  sum_rows(piece.begin, piece.end, totals, [&](Index row, double(&sum)[2 * N]) {
    if (!is_there) return;
    const Pack<T, N> values = load_pack<N>(x + row * channels + c);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const double distance = wider(values.at[k]) - wider(first.at[k]);
      sum[k] += distance;
      sum[N + k] += distance * distance;
    }
  });
  if (is_there && threadIdx.y == 0) store_sums<N>(sums, channels, c, totals);
}

template <class T, class Channels>
__global__ void statistics_kernel(Index rows, Index pieces, Index channels, Channels* mean,
                                  Channels* variance, const double* sums, const T* x) {
  const Index c = first_channel<1>();
  double totals[2] = {};
  sum_pieces(totals, sums, pieces, channels, c);
  if (threadIdx.y != 0 || c >= channels) return;
  // Without rows both are 0, not NaN: a rank may have no samples.
  const double scale = 1.0 / static_cast<double>(rows > 0 ? rows : 1);
  const double distance = totals[0] * scale, spread = totals[1] * scale - distance * distance;
  mean[c] = rounded<Channels>((rows > 0 ? wider(x[c]) : 0.0) + distance);
  variance[c] = rounded<Channels>(spread < 0 ? 0.0 : spread);  // below 0 by rounding only
}

/// Numbers of the block's channels, each made once by one of its threads, for all of them.
template <int kNumbers, class T>
struct ChannelNumbers {
  T (&values)[kNumbers][kThreads];

  /// `make(c, numbers)` for the channels of a block whose threads have N each. All threads call it.
  template <int N, class Make>
  __device__ void fill(Index channels, Make&& make) {
    const unsigned me = threadIdx.y * blockDim.x + threadIdx.x;
    const Index c = static_cast<Index>(blockIdx.x) * blockDim.x * N + me;
    if (me < N * blockDim.x && c < channels) {
      T numbers[kNumbers];
      make(c, numbers);
      for (int i = 0; i < kNumbers; ++i) values[i][me] = numbers[i];
    }
    __syncthreads();
  }
  /// Number `i` of the thread's channel k.
  template <int N>
  __device__ T of(int i, int k) const {
    return values[i][N * threadIdx.x + k];
  }
};

template <class Channels>
__device__ double inverse_deviation(const Channels* variance, Index c, double epsilon) {
  return 1.0 / sqrt(wider(variance[c]) + epsilon);
}

/// `f(i)` for the first element i of each of this thread's packs, in all rows.
template <class F>
__device__ void for_each_row(Index rows, Index channels, Index c, F&& f) {
  const Index step = static_cast<Index>(gridDim.y) * blockDim.y;
  for (Index row = static_cast<Index>(blockIdx.y) * blockDim.y + threadIdx.y; row < rows; row += step)
    f(row * channels + c);
}

/// A NaN stays one.
template <class T>
__device__ T through_relu(T y, Arithmetic<T> highest) {
  if (wide(y) <= 0) return rounded<T>(Arithmetic<T>(0));
  return wide(y) > highest ? rounded<T>(highest) : y;
}

template <int N, class T, class Channels>
__global__ void normalise_kernel(Index rows, Index channels, T* out, const T* x, const Channels* mean,
                                 const Channels* variance, const Channels* gamma, const Channels* beta,
                                 double epsilon, bool has_relu, double highest) {
  using Real = Arithmetic<T>;
  __shared__ Real values[3][kThreads];
  ChannelNumbers<3, Real> numbers{values};
  numbers.template fill<N>(channels, [&](Index c, Real(&of)[3]) {
    of[0] = static_cast<Real>(wider(mean[c]));
    of[1] = static_cast<Real>(inverse_deviation(variance, c, epsilon) * value_or(gamma, c, 1.0));
    of[2] = static_cast<Real>(value_or(beta, c, 0.0));
  });
  const Index c = first_channel<N>();
  if (c >= channels) return;
  Real means[N], factors[N], offsets[N];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    means[k] = numbers.template of<N>(0, k);
    factors[k] = numbers.template of<N>(1, k);
    offsets[k] = numbers.template of<N>(2, k);
  }
  for_each_row(rows, channels, c, [&](Index i) {
    Pack<T, N> result = load_pack<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      result.at[k] = rounded<T>((wide(result.at[k]) - means[k]) * factors[k] + offsets[k]);
      if (has_relu) result.at[k] = through_relu(result.at[k], static_cast<Real>(highest));
    }
    store_pack<N>(out + i, result);
  });
}

/// A gradient and, if it is one behind a relu, the relu's result and the most that this can be.
template <class T>
struct Gradient {
  const T *grad, *y;
  double highest;
};

/// The gradient in front of the relu, from element i on.
template <int N, class T>
__device__ Pack<T, N> load_gradient(const Gradient<T>& gradient, Index i) {
  Pack<T, N> grads = load_pack<N>(gradient.grad + i);
  if (!gradient.y) return grads;
  using Real = Arithmetic<T>;
  const Pack<T, N> results = load_pack<N>(gradient.y + i);
  const Real highest = static_cast<Real>(gradient.highest);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Real y = wide(results.at[k]);
    grads.at[k] = rounded<T>(wide(grads.at[k]) * static_cast<Real>(y > 0 && y < highest ? 1 : 0));
  }
  return grads;
}

// Of the gradient, and of its products with the distances from the mean.
template <int N, class T, class Channels>
__global__ void gradient_sums_kernel(Index rows, Index channels, double* sums, Gradient<T> gradient,
                                     const T* x, const Channels* mean) {
  const Index c = first_channel<N>();
  const bool is_there = c < channels;
  double means[N] = {};
  for (int k = 0; k < N; ++k)
    if (is_there) means[k] = wider(mean[c + k]);
  const Piece piece(rows);
  double totals[2 * N] = {};
  sum_rows(piece.begin, piece.end, totals, [&](Index row, double(&sum)[2 * N]) {
    if (!is_there) return;
    const Index i = row * channels + c;
    const Pack<T, N> grads = load_gradient<N>(gradient, i), values = load_pack<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      sum[k] += wider(grads.at[k]);
      sum[N + k] += wider(grads.at[k]) * (wider(values.at[k]) - means[k]);
    }
  });
  if (is_there && threadIdx.y == 0) store_sums<N>(sums, channels, c, totals);
}

// The whole sums take the place of the first piece's.
template <class Channels>
__global__ void parameter_gradients_kernel(Index pieces, Index channels, Channels* grad_gamma,
                                           Channels* grad_beta, double* sums, const Channels* variance,
                                           double epsilon) {
  const Index c = first_channel<1>();
  double totals[2] = {};
  sum_pieces(totals, sums, pieces, channels, c);
  if (threadIdx.y != 0 || c >= channels) return;
  if (grad_beta) grad_beta[c] = rounded<Channels>(totals[0]);
  if (grad_gamma) grad_gamma[c] = rounded<Channels>(totals[1] / sqrt(wider(variance[c]) + epsilon));
  sums[c] = totals[0];
  sums[channels + c] = totals[1];
}

// grad_x = gamma / deviation * (grad - mean(grad) - x^ * mean(grad * x^)), with x^ the normalised x
template <int N, class T, class Channels>
__global__ void input_gradient_kernel(Index rows, Index channels, T* grad_x, const double* sums,
                                      Gradient<T> gradient, const T* x, const Channels* mean,
                                      const Channels* variance, const Channels* gamma, double epsilon) {
  using Real = Arithmetic<T>;
  __shared__ Real values[4][kThreads];
  ChannelNumbers<4, Real> numbers{values};
  numbers.template fill<N>(channels, [&](Index c, Real(&of)[4]) {
    const double count = static_cast<double>(rows);
    of[0] = static_cast<Real>(wider(mean[c]));
    of[1] = static_cast<Real>(inverse_deviation(variance, c, epsilon) * value_or(gamma, c, 1.0));
    of[2] = static_cast<Real>(sums[c] / count);
    of[3] = static_cast<Real>(sums[channels + c] / count / (wider(variance[c]) + epsilon));
  });
  const Index c = first_channel<N>();
  if (c >= channels) return;
  Real means[N], factors[N], mean_grads[N], slopes[N];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    means[k] = numbers.template of<N>(0, k);
    factors[k] = numbers.template of<N>(1, k);
    mean_grads[k] = numbers.template of<N>(2, k);
    slopes[k] = numbers.template of<N>(3, k);
  }
  for_each_row(rows, channels, c, [&](Index i) {
    const Pack<T, N> grads = load_gradient<N>(gradient, i);
    Pack<T, N> result = load_pack<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const Real distance = wide(result.at[k]) - means[k];
      result.at[k] = rounded<T>(factors[k] * (wide(grads.at[k]) - mean_grads[k] - distance * slopes[k]));
    }
    store_pack<N>(grad_x + i, result);
  });
}

struct Table {
  Index rows, channels;

  explicit Table(const Operand& x) : rows(0), channels(x.shape[static_cast<std::size_t>(x.rank - 1)]) {
    if (channels > 0) rows = x.count() / channels;
  }
};

/// For kernels that write elements: each thread has several rows.
template <int N>
ColumnGrid element_grid(const Table& table) {
  ColumnGrid grid = column_grid<N>(table.channels, 1);
  const Index rows_of_block = kRowsOfThread * grid.threads.y;
  const Index blocks = (table.rows + rows_of_block - 1) / rows_of_block;
  grid.blocks.y = static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
  return grid;
}

template <class T, class Channels>
void run_statistics(const Call& call, cudaStream_t stream) {
  const Operand &sums = call[2], &x = call[3];
  const Table table(x);
  with_packs<T>(table.channels, data<T>(x), nullptr, nullptr, [&]<int kN>(Lanes<kN>) {
    const ColumnGrid grid = column_grid<kN>(table.channels, sums.shape[0]);
    launch(distances_kernel<kN, T>, grid.blocks, grid.threads, stream, table.rows, table.channels,
           data<double>(sums), data<T>(x));
  });
  const ColumnGrid grid = grid_of_pieces(table.channels);
  launch(statistics_kernel<T, Channels>, grid.blocks, grid.threads, stream, table.rows, sums.shape[0],
         table.channels, data<Channels>(call[0]), data<Channels>(call[1]), data<double>(sums), data<T>(x));
}

template <class T, class Channels>
void run_normalise(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &x = call[1];
  const auto of_channels = [&](int i) { return data<Channels>(call[i]); };
  const Table table(x);
  if (table.rows == 0) return;
  with_packs<T>(table.channels, data<T>(out), data<T>(x), nullptr, [&]<int kN>(Lanes<kN>) {
    const ColumnGrid grid = element_grid<kN>(table);
    launch(normalise_kernel<kN, T, Channels>, grid.blocks, grid.threads, stream, table.rows, table.channels,
           data<T>(out), data<T>(x), of_channels(2), of_channels(3), of_channels(4), of_channels(5),
           call.attributes.batch_norm.epsilon, call.attributes.epilogue == Epilogue::relu,
           call.attributes.batch_norm.highest);
  });
}

template <class T, class Channels>
void run_backward(const Call& call, cudaStream_t stream) {
  const auto of_channels = [&](int i) { return data<Channels>(call[i]); };
  const auto elements = [&](int i) { return data<T>(call[i]); };
  const Gradient<T> gradient{elements(4), elements(9), call.attributes.batch_norm.highest};
  const T* x = elements(5);
  const Channels *mean = of_channels(6), *variance = of_channels(7), *gamma = of_channels(8);
  const Index pieces = call[3].shape[0];
  double* sums = data<double>(call[3]);
  const double epsilon = call.attributes.batch_norm.epsilon;
  const Table table(call[5]);
  const auto run = [&]<int kN>(Lanes<kN>) {
    const ColumnGrid by_pieces = column_grid<kN>(table.channels, pieces);
    launch(gradient_sums_kernel<kN, T, Channels>, by_pieces.blocks, by_pieces.threads, stream, table.rows,
           table.channels, sums, gradient, x, mean);
    const ColumnGrid whole = grid_of_pieces(table.channels);
    launch(parameter_gradients_kernel<Channels>, whole.blocks, whole.threads, stream, pieces, table.channels,
           of_channels(1), of_channels(2), sums, variance, epsilon);
    if (table.rows == 0) return;
    const ColumnGrid all = element_grid<kN>(table);
    launch(input_gradient_kernel<kN, T, Channels>, all.blocks, all.threads, stream, table.rows,
           table.channels, elements(0), sums, gradient, x, mean, variance, gamma, epsilon);
  };
  with_packs<T>(table.channels, elements(0), gradient.grad, x, gradient.y, run);
}

}  // namespace

void run_batch_norm(const Call& call, const Place& place) {
  const bool is_forward = call.op == Op::batch_norm, is_statistics = call.op == Op::batch_statistics;
  const Operand& x = call[is_statistics ? 3 : is_forward ? 1 : 5];
  const Operand& mean = call[is_statistics ? 0 : is_forward ? 2 : 6];
  if (mean.count() == 0) return;
  const cudaStream_t stream = native(place.stream);
  with_reals(x.dtype, mean.dtype, [&]<class T, class Channels>(T, Channels) {
    if (is_statistics)
      run_statistics<T, Channels>(call, stream);
    else if (is_forward)
      run_normalise<T, Channels>(call, stream);
    else
      run_backward<T, Channels>(call, stream);
  });
}

}  // namespace ronde::inline v0::cuda
