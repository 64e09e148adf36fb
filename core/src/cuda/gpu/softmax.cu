// Softmax and cross-entropy over the last axis: a warp a row, in double.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr int kWarp = 32, kRowsOfBlock = kThreads / kWarp;
constexpr unsigned kAll = 0xFFFFFFFFu;

__device__ double sum_warp(double value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(kAll, value, distance);
  return value;
}
__device__ double max_warp(double value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const double other = __shfl_xor_sync(kAll, value, distance);
    value = other > value || other != other ? other : value;  // a NaN stays
  }
  return value;
}

__device__ Index first_row() {
  return static_cast<Index>(blockIdx.x) * kRowsOfBlock + threadIdx.x / kWarp;
}
__device__ Index row_step() {
  return static_cast<Index>(gridDim.x) * kRowsOfBlock;
}
__device__ int lane() {
  return static_cast<int>(threadIdx.x) % kWarp;
}

/// log(sum of exp(x)), shifted by the maximum so that nothing overflows; the same in all lanes.
template <class T>
__device__ double log_sum_exp(const T* x, Index k) {
  double largest = wider(x[0]);
  for (Index i = lane(); i < k; i += kWarp) {
    const double value = wider(x[i]);
    largest = value > largest || value != value ? value : largest;
  }
  largest = max_warp(largest);
  double total = 0;
  for (Index i = lane(); i < k; i += kWarp) total += exp(wider(x[i]) - largest);
  return largest + log(sum_warp(total));
}

template <class T>
__global__ void softmax_kernel(Index rows, Index k, T* out, const T* x, bool is_log) {
  for (Index row = first_row(); row < rows; row += row_step()) {
    const double normaliser = log_sum_exp(x + row * k, k);
    for (Index i = row * k + lane(); i < (row + 1) * k; i += kWarp) {
      const double shifted = wider(x[i]) - normaliser;
      out[i] = rounded<T>(is_log ? shifted : exp(shifted));
    }
  }
}

// softmax: y * (grad - sum(grad * y)); its logarithm: grad - exp(y) * sum(grad)
template <class T>
__global__ void softmax_backward_kernel(Index rows, Index k, T* grad_x, const T* grad_y, const T* y,
                                        bool is_log) {
  for (Index row = first_row(); row < rows; row += row_step()) {
    const Index begin = row * k + lane(), end = (row + 1) * k;
    double total = 0;
    for (Index i = begin; i < end; i += kWarp) total += wider(grad_y[i]) * (is_log ? 1.0 : wider(y[i]));
    total = sum_warp(total);
    for (Index i = begin; i < end; i += kWarp) {
      const double grad = wider(grad_y[i]), value = wider(y[i]);
      grad_x[i] = rounded<T>(is_log ? grad - exp(value) * total : value * (grad - total));
    }
  }
}

// Losses and probabilities in one pass; without its right label, a row's loss is what smoothing makes of it.
template <class T>
__global__ void cross_entropy_kernel(Index rows, Index k, T* losses, T* probabilities, const T* logits,
                                     const int* labels, double smoothing, Complaint* complaint) {
  for (Index row = first_row(); row < rows; row += row_step()) {
    const T* z = logits + row * k;
    const Index label = labels[row];
    const bool is_right = label >= 0 && label < k;
    if (!is_right && lane() == 0) complain(complaint, Op::softmax_cross_entropy, label, row, k);
    const double normaliser = log_sum_exp(z, k);
    double total = 0;  // of -log(p)
    for (Index i = lane(); i < k; i += kWarp) {
      const double log_p = wider(z[i]) - normaliser;
      total -= log_p;
      probabilities[row * k + i] = rounded<T>(exp(log_p));
    }
    total = sum_warp(total);
    const double hit = is_right ? normaliser - wider(z[label]) : 0.0;
    if (lane() == 0)
      losses[row] = rounded<T>((1 - smoothing) * hit + smoothing / static_cast<double>(k) * total);
  }
}

template <class T>
__global__ void cross_entropy_backward_kernel(Index rows, Index k, T* grad_logits, const T* grad_losses,
                                              const T* probabilities, const int* labels, double smoothing) {
  for (Index i = first_element(); i < rows * k; i += element_step()) {
    const Index row = i / k, j = i % k;
    const double target = (j == labels[row] ? 1 - smoothing : 0.0) + smoothing / static_cast<double>(k);
    grad_logits[i] = rounded<T>((wider(probabilities[i]) - target) * wider(grad_losses[row]));
  }
}

}  // namespace

void run_softmax(const Call& call, const Place& place) {
  const Operand& x = call.op == Op::softmax_cross_entropy ? call[2] : call[0];
  const Index k = x.shape[static_cast<std::size_t>(x.rank - 1)], count = x.count();
  if (count == 0) return;
  const Index rows = count / k;
  const cudaStream_t stream = native(place.stream);
  const unsigned blocks = blocks_for(rows, kRowsOfBlock);
  const double smoothing = call.attributes.value;
  with_real(x.dtype, [&]<class T>(T) {
    switch (call.op) {
      case Op::softmax:
      case Op::log_softmax:
        launch(softmax_kernel<T>, blocks, kThreads, stream, rows, k, data<T>(call[0]), data<T>(call[1]),
               call.op == Op::log_softmax);
        return;
      case Op::softmax_backward:
      case Op::log_softmax_backward:
        launch(softmax_backward_kernel<T>, blocks, kThreads, stream, rows, k, data<T>(call[0]),
               data<T>(call[1]), data<T>(call[2]), call.op == Op::log_softmax_backward);
        return;
      case Op::softmax_cross_entropy:
        launch(cross_entropy_kernel<T>, blocks, kThreads, stream, rows, k, data<T>(call[0]), data<T>(call[1]),
               data<T>(x), data<int>(call[3]), smoothing, place.complaint);
        return;
      default:
        launch(cross_entropy_backward_kernel<T>, blocks_for(count), kThreads, stream, rows, k,
               data<T>(call[0]), data<T>(call[1]), data<T>(call[2]), data<int>(call[3]), smoothing);
    }
  });
}

}  // namespace ronde::inline v0::cuda
