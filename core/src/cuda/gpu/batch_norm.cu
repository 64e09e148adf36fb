// Batch normalisation over the last axis. Sums are made in double, by pieces of the rows and then over these;
// elements are computed in the type of arithmetic, with a channel's numbers made in double once. A relu
// behind it gives the bits that it would give as a kernel of its own.
#include "cuda/gpu/column_sums.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr Index kRowsOfThread = 8;  // at least, if there are as many
constexpr Index kMostBlocks = 1024;

// Of the distances from the first row and of their squares: a mean far from 0 costs no precision.
template <int N, class T>
__global__ void distances_kernel(Index rows, Index channels, double* sums, const T* x) {
  begin_kernel();
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
  begin_kernel();
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

/// What the channels are normalised by; gamma and beta may be null.
template <class Channels>
struct Statistics {
  const Channels *mean, *variance, *gamma, *beta;
  double epsilon;

  /// Mean, factor and offset of (x - mean) * factor + offset.
  template <class Real>
  __device__ void numbers(Index c, Real* to) const {
    to[0] = static_cast<Real>(wider(mean[c]));
    to[1] = static_cast<Real>(inverse_deviation(variance, c, epsilon) * value_or(gamma, c, 1.0));
    to[2] = static_cast<Real>(value_or(beta, c, 0.0));
  }
};

/// The norm of a thread's channels.
template <int N, class T>
struct Norm {
  using Real = Arithmetic<T>;
  Real means[N], factors[N], offsets[N];

  template <int kNumbers>
  __device__ explicit Norm(const ChannelNumbers<kNumbers, Real>& numbers) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      means[k] = numbers.template of<N>(0, k);
      factors[k] = numbers.template of<N>(1, k);
      offsets[k] = numbers.template of<N>(2, k);
    }
  }
  __device__ Real of(T x, int k) const {
    return (wide(x) - means[k]) * factors[k] + offsets[k];
  }
};

/// `f(i)` for the first element i of each of this thread's packs, in all rows.
template <class F>
__device__ void for_each_row(Index rows, Index channels, Index c, F&& f) {
  const Index step = static_cast<Index>(gridDim.y) * blockDim.y;
  for (Index row = static_cast<Index>(blockIdx.y) * blockDim.y + threadIdx.y; row < rows; row += step)
    f(row * channels + c);
}

/// A relu behind the norm, if there is one, and the most that it gives.
struct Relu {
  bool is_there;
  double highest;

  /// A NaN stays one.
  template <class Real>
  __device__ Real through(Real y) const {
    if (!is_there) return y;
    const Real limit = static_cast<Real>(highest);
    return y <= 0 ? Real(0) : (y > limit ? limit : y);
  }
  /// Whether the gradient passes, where y is what it got.
  template <class Real>
  __device__ Real passes(Real y) const {
    return !is_there || (y > 0 && y < static_cast<Real>(highest)) ? Real(1) : Real(0);
  }
};

template <int N, class T, class Channels>
__global__ void normalise_kernel(Index rows, Index channels, T* out, const T* x,
                                 Statistics<Channels> statistics, Relu relu) {
  begin_kernel();
  using Real = Arithmetic<T>;
  __shared__ Real values[3][kThreads];
  ChannelNumbers<3, Real> numbers{values};
  numbers.template fill<N>(channels, [&](Index c, Real(&of)[3]) { statistics.numbers(c, of); });
  const Index c = first_channel<N>();
  if (c >= channels) return;
  const Norm<N, T> norm(numbers);
  for_each_row(rows, channels, c, [&](Index i) {
    Pack<T, N> result = load_pack<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) result.at[k] = rounded<T>(relu.through(norm.of(result.at[k], k)));
    store_pack<N>(out + i, result);
  });
}

// Of the gradient, and of its products with the distances from the mean.
template <int N, class T, class Channels>
__global__ void gradient_sums_kernel(Index rows, Index channels, double* sums, const T* grad, const T* x,
                                     Statistics<Channels> statistics, Relu relu) {
  begin_kernel();
  using Real = Arithmetic<T>;
  __shared__ Real numbers_of_channels[3][kThreads];
  ChannelNumbers<3, Real> numbers{numbers_of_channels};
  numbers.template fill<N>(channels, [&](Index c, Real(&of)[3]) { statistics.numbers(c, of); });
  const Index c = first_channel<N>();
  const bool is_there = c < channels;
  const Norm<N, T> norm(numbers);
  double means[N] = {};
  for (int k = 0; k < N; ++k)
    if (is_there) means[k] = wider(statistics.mean[c + k]);
  const Piece piece(rows);
  double totals[2 * N] = {};
  sum_rows(piece.begin, piece.end, totals, [&](Index row, double(&sum)[2 * N]) {
    if (!is_there) return;
    const Index i = row * channels + c;
    const Pack<T, N> grads = load_pack<N>(grad + i), values = load_pack<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const double passed = wider(grads.at[k]) * relu.passes(norm.of(values.at[k], k));
      sum[k] += passed;
      sum[N + k] += passed * (wider(values.at[k]) - means[k]);
    }
  });
  if (is_there && threadIdx.y == 0) store_sums<N>(sums, channels, c, totals);
}

// The whole sums take the place of the first piece's.
template <class Channels>
__global__ void parameter_gradients_kernel(Index pieces, Index channels, Channels* grad_gamma,
                                           Channels* grad_beta, double* sums, const Channels* variance,
                                           double epsilon) {
  begin_kernel();
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
                                      const T* grad, const T* x, Statistics<Channels> statistics, Relu relu) {
  begin_kernel();
  using Real = Arithmetic<T>;
  __shared__ Real values[5][kThreads];
  ChannelNumbers<5, Real> numbers{values};
  numbers.template fill<N>(channels, [&](Index c, Real(&of)[5]) {
    const double count = static_cast<double>(rows);
    statistics.numbers(c, of);
    of[3] = static_cast<Real>(sums[c] / count);
    of[4] =
        static_cast<Real>(sums[channels + c] / count / (wider(statistics.variance[c]) + statistics.epsilon));
  });
  const Index c = first_channel<N>();
  if (c >= channels) return;
  const Norm<N, T> norm(numbers);
  Real mean_grads[N], slopes[N];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    mean_grads[k] = numbers.template of<N>(3, k);
    slopes[k] = numbers.template of<N>(4, k);
  }
  for_each_row(rows, channels, c, [&](Index i) {
    const Pack<T, N> grads = load_pack<N>(grad + i);
    Pack<T, N> result = load_pack<N>(x + i);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const Real distance = wide(result.at[k]) - norm.means[k];
      const Real passed = wide(grads.at[k]) * relu.passes(norm.of(result.at[k], k));
      result.at[k] = rounded<T>(norm.factors[k] * (passed - mean_grads[k] - distance * slopes[k]));
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

/// Mean, variance, gamma and beta are operands from `first` on.
template <class Channels>
Statistics<Channels> statistics_of(const Call& call, int first) {
  const auto of_channels = [&](int i) { return data<Channels>(call[first + i]); };
  return {of_channels(0), of_channels(1), of_channels(2), of_channels(3), call.attributes.batch_norm.epsilon};
}

Relu relu_of(const Call& call) {
  return {call.attributes.epilogue == Epilogue::relu, call.attributes.value};
}

template <class T, class Channels>
void run_normalise(const Call& call, cudaStream_t stream) {
  const Operand &out = call[0], &x = call[1];
  const Table table(x);
  if (table.rows == 0) return;
  with_packs<T>(table.channels, data<T>(out), data<T>(x), nullptr, [&]<int kN>(Lanes<kN>) {
    const ColumnGrid grid = element_grid<kN>(table);
    launch(normalise_kernel<kN, T, Channels>, grid.blocks, grid.threads, stream, table.rows, table.channels,
           data<T>(out), data<T>(x), statistics_of<Channels>(call, 2), relu_of(call));
  });
}

template <class T, class Channels>
void run_backward(const Call& call, cudaStream_t stream) {
  T *grad_x = data<T>(call[0]), *grad = data<T>(call[4]), *x = data<T>(call[5]);
  const Statistics<Channels> statistics = statistics_of<Channels>(call, 6);
  const Index pieces = call[3].shape[0];
  double* sums = data<double>(call[3]);
  const Table table(call[5]);
  with_packs<T>(table.channels, grad_x, grad, x, [&]<int kN>(Lanes<kN>) {
    const ColumnGrid by_pieces = column_grid<kN>(table.channels, pieces);
    launch(gradient_sums_kernel<kN, T, Channels>, by_pieces.blocks, by_pieces.threads, stream, table.rows,
           table.channels, sums, grad, x, statistics, relu_of(call));
    const ColumnGrid whole = grid_of_pieces(table.channels);
    launch(parameter_gradients_kernel<Channels>, whole.blocks, whole.threads, stream, pieces, table.channels,
           data<Channels>(call[1]), data<Channels>(call[2]), sums, statistics.variance, statistics.epsilon);
    if (table.rows == 0) return;
    const ColumnGrid all = element_grid<kN>(table);
    launch(input_gradient_kernel<kN, T, Channels>, all.blocks, all.threads, stream, table.rows,
           table.channels, grad_x, sums, grad, x, statistics, relu_of(call));
  });
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
