// Layer normalisation of rows: a warp a row, of long ones a block. Sums are made in double, elements in the
// type of arithmetic; the gradients of gamma and beta by pieces of the rows and then over these.
#include "cuda/gpu/column_sums.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr Index kLongRow = 2048;  // elements: several for each of a block's threads

/// The threads that share a row: a warp, or the block.
template <int kGroup>
struct Group {
  static_assert(kGroup == kWarp || kGroup == kThreads);
  static constexpr int kRows = kThreads / kGroup;  // of a block

  /// The same in all of them. All threads of the block call it, with a row or without.
  static __device__ double sum(double value) {
    if constexpr (kGroup == kWarp)
      return sum_warp(value);
    else
      return sum_block(value);
  }
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % kGroup; }
  /// `f(row)`.
  template <class F>
  static __device__ void for_each_row(Index rows, F&& f) {
    const Index first = static_cast<Index>(blockIdx.x) * kRows + threadIdx.x / kGroup;
    for (Index row = first; row < rows; row += static_cast<Index>(gridDim.x) * kRows) f(row);
  }
};

template <int kGroup, class T, class Weights>
__global__ void layer_norm_kernel(Index rows, Index k, T* out, Weights* mean, Weights* variance, const T* x,
                                  const Weights* gamma, const Weights* beta, double epsilon) {
  begin_kernel();
  using Real = Arithmetic<T>;
  using Row = Group<kGroup>;
  Row::for_each_row(rows, [&](Index row) {
    const T* from = x + row * k;
    double total = 0, squares = 0;
    for (Index i = Row::lane(); i < k; i += kGroup) total += wider(from[i]);
    const double center = Row::sum(total) / static_cast<double>(k);
    for (Index i = Row::lane(); i < k; i += kGroup) {
      const double distance = wider(from[i]) - center;
      squares += distance * distance;
    }
    const double spread = Row::sum(squares) / static_cast<double>(k);
    if (Row::lane() == 0) {
      mean[row] = rounded<Weights>(center);
      variance[row] = rounded<Weights>(spread);
    }
    const Real middle = static_cast<Real>(center), inverse = static_cast<Real>(1 / sqrt(spread + epsilon));
    for (Index i = Row::lane(); i < k; i += kGroup)
      out[row * k + i] =
          rounded<T>((wide(from[i]) - middle) * inverse * static_cast<Real>(value_or(gamma, i, 1.0)) +
                     static_cast<Real>(value_or(beta, i, 0.0)));
  });
}

/// What a row is normalised by.
template <class Real>
struct RowNorm {
  Real mean, inverse;

  template <class Weights>
  __device__ RowNorm(const Weights* means, const Weights* variances, Index row, double epsilon)
      : mean(static_cast<Real>(wide(means[row]))),
        inverse(Real(1) / sqrt(static_cast<Real>(wide(variances[row])) + static_cast<Real>(epsilon))) {}
  template <class T>
  __device__ Real of(T x) const {
    return (wide(x) - mean) * inverse;
  }
};

// grad_x = (d - mean(d) - x^ * mean(d * x^)) / deviation, with d = grad * gamma and x^ the normalised x
template <int kGroup, class T, class Weights>
__global__ void row_gradient_kernel(Index rows, Index k, T* grad_x, const T* grad, const T* x,
                                    const Weights* mean, const Weights* variance, const Weights* gamma,
                                    double epsilon) {
  begin_kernel();
  using Real = Arithmetic<T>;
  using Row = Group<kGroup>;
  Row::for_each_row(rows, [&](Index row) {
    const RowNorm<Real> norm(mean, variance, row, epsilon);
    const auto scaled = [&](Index i) {
      return wide(grad[row * k + i]) * static_cast<Real>(value_or(gamma, i, 1.0));
    };
    double total = 0, product = 0;
    for (Index i = Row::lane(); i < k; i += kGroup) {
      const Real d = scaled(i);
      total += d;
      product += d * norm.of(x[row * k + i]);
    }
    const Real mean_d = static_cast<Real>(Row::sum(total) / static_cast<double>(k));
    const Real slope = static_cast<Real>(Row::sum(product) / static_cast<double>(k));
    for (Index i = Row::lane(); i < k; i += kGroup)
      grad_x[row * k + i] = rounded<T>((scaled(i) - mean_d - norm.of(x[row * k + i]) * slope) * norm.inverse);
  });
}

// Of the gradient, and of its products with the normalised x.
template <int N, class T, class Weights>
__global__ void weight_sums_kernel(Index rows, Index k, double* sums, const T* grad, const T* x,
                                   const Weights* mean, const Weights* variance, double epsilon) {
  begin_kernel();
  const Index c = first_channel<N>();
  const bool is_there = c < k;
  const Piece piece(rows);
  double totals[2 * N] = {};
  sum_rows(piece.begin, piece.end, totals, [&](Index row, double(&sum)[2 * N]) {
    if (!is_there) return;
    const RowNorm<Arithmetic<T>> norm(mean, variance, row, epsilon);
    const Pack<T, N> grads = load_pack<N>(grad + row * k + c), values = load_pack<N>(x + row * k + c);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      sum[i] += wider(grads.at[i]);
      sum[N + i] += wider(grads.at[i]) * norm.of(values.at[i]);
    }
  });
  if (is_there && threadIdx.y == 0) store_sums<N>(sums, k, c, totals);
}

template <class Weights>
__global__ void weight_gradients_kernel(Index pieces, Index k, Weights* grad_gamma, Weights* grad_beta,
                                        const double* sums) {
  begin_kernel();
  const Index c = first_channel<1>();
  double totals[2] = {};
  sum_pieces(totals, sums, pieces, k, c);
  if (threadIdx.y != 0 || c >= k) return;
  if (grad_beta) grad_beta[c] = rounded<Weights>(totals[0]);
  if (grad_gamma) grad_gamma[c] = rounded<Weights>(totals[1]);
}

/// Calls `f(Lanes<threads of a row>, blocks)`.
template <class F>
void with_groups(Index rows, Index k, F&& f) {
  if (rows == 0 || k == 0) return;
  if (k < kLongRow)
    f(Lanes<kWarp>{}, blocks_for(rows, Group<kWarp>::kRows));
  else
    f(Lanes<kThreads>{}, blocks_for(rows, 1));
}

template <class T, class Weights>
void run_forward(const Call& call, cudaStream_t stream) {
  const Index rows = call[3].shape[0], k = call[3].shape[1];
  with_groups(rows, k, [&]<int kGroup>(Lanes<kGroup>, unsigned blocks) {
    launch(layer_norm_kernel<kGroup, T, Weights>, blocks, kThreads, stream, rows, k, data<T>(call[0]),
           data<Weights>(call[1]), data<Weights>(call[2]), data<T>(call[3]), data<Weights>(call[4]),
           data<Weights>(call[5]), call.attributes.value);
  });
}

template <class T, class Weights>
void run_backward(const Call& call, cudaStream_t stream) {
  const Operand &sums = call[3], &grad = call[4], &x = call[5];
  const Weights *mean = data<Weights>(call[6]), *variance = data<Weights>(call[7]);
  const Index rows = x.shape[0], k = x.shape[1];
  const double epsilon = call.attributes.value;
  with_groups(rows, k, [&]<int kGroup>(Lanes<kGroup>, unsigned blocks) {
    launch(row_gradient_kernel<kGroup, T, Weights>, blocks, kThreads, stream, rows, k, data<T>(call[0]),
           data<T>(grad), data<T>(x), mean, variance, data<Weights>(call[8]), epsilon);
  });
  if (!sums.defined || k == 0) return;
  with_packs<T>(k, data<T>(grad), data<T>(x), nullptr, [&]<int kN>(Lanes<kN>) {
    const ColumnGrid by_pieces = column_grid<kN>(k, sums.shape[0]);
    launch(weight_sums_kernel<kN, T, Weights>, by_pieces.blocks, by_pieces.threads, stream, rows, k,
           data<double>(sums), data<T>(grad), data<T>(x), mean, variance, epsilon);
  });
  const ColumnGrid whole = grid_of_pieces(k);
  launch(weight_gradients_kernel<Weights>, whole.blocks, whole.threads, stream, sums.shape[0], k,
         data<Weights>(call[1]), data<Weights>(call[2]), data<double>(sums));
}

}  // namespace

void run_layer_norm(const Call& call, const Place& place) {
  const bool is_forward = call.op == Op::layer_norm;
  const Operand &x = call[is_forward ? 3 : 5], &mean = call[is_forward ? 1 : 6];
  const cudaStream_t stream = native(place.stream);
  with_reals(x.dtype, mean.dtype, [&]<class T, class Weights>(T, Weights) {
    if (is_forward)
      run_forward<T, Weights>(call, stream);
    else
      run_backward<T, Weights>(call, stream);
  });
}

}  // namespace ronde::inline v0::cuda
