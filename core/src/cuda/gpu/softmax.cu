// Softmax and cross-entropy over the last axis: a warp a row, in double.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

constexpr int kRowsOfBlock = kThreads / kWarp;

__device__ double max_warp(double value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const double other = __shfl_xor_sync(kAllLanes, value, distance);
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
  begin_kernel();
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
  begin_kernel();
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
template <class T, class Out>
__global__ void cross_entropy_kernel(Index rows, Index k, Out* losses, Out* probabilities, const T* logits,
                                     const int* labels, double smoothing, Complaint* complaint) {
  begin_kernel();
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
      probabilities[row * k + i] = rounded<Out>(exp(log_p));
    }
    total = sum_warp(total);
    const double hit = is_right ? normaliser - wider(z[label]) : 0.0;
    // The total is not finite where a logit of -inf masks a class.
    const double spread = smoothing == 0 ? 0.0 : smoothing / static_cast<double>(k) * total;
    if (lane() == 0) losses[row] = rounded<Out>((1 - smoothing) * hit + spread);
  }
}

/// From one loss to the next it is `step` elements: none where all have the same gradient.
template <class T, class In>
__global__ void cross_entropy_backward_kernel(Index rows, Index k, T* grad_logits, const In* grad_losses,
                                              Index step, const In* probabilities, const int* labels,
                                              double smoothing) {
  begin_kernel();
  for (Index i = first_element(); i < rows * k; i += element_step()) {
    const Index row = i / k, j = i % k;
    const double target = (j == labels[row] ? 1 - smoothing : 0.0) + smoothing / static_cast<double>(k);
    grad_logits[i] = rounded<T>((wider(probabilities[i]) - target) * wider(grad_losses[row * step]));
  }
}

void run_cross_entropy(const Call& call, const Place& place) {
  const Operand &losses = call[0], &logits = call[2];
  const Index rows = logits.shape[0], k = logits.shape[1];
  if (logits.count() == 0) return;
  with_reals(logits.dtype, losses.dtype, [&]<class T, class Out>(T, Out) {
    launch(cross_entropy_kernel<T, Out>, blocks_for(rows, kRowsOfBlock), kThreads, native(place.stream), rows,
           k, data<Out>(losses), data<Out>(call[1]), data<T>(logits), data<int>(call[3]),
           call.attributes.value, place.complaint);
  });
}

void run_cross_entropy_backward(const Call& call, const Place& place) {
  const Operand &grad = call[0], &grad_losses = call[1];
  const Index rows = grad.shape[0], k = grad.shape[1];
  if (grad.count() == 0) return;
  with_reals(grad.dtype, grad_losses.dtype, [&]<class T, class In>(T, In) {
    launch(cross_entropy_backward_kernel<T, In>, blocks_for(grad.count()), kThreads, native(place.stream),
           rows, k, data<T>(grad), data<In>(grad_losses), static_cast<Index>(grad_losses.strides[0]),
           data<In>(call[2]), data<int>(call[3]), call.attributes.value);
  });
}

}  // namespace

void run_softmax(const Call& call, const Place& place) {
  if (call.op == Op::softmax_cross_entropy) return run_cross_entropy(call, place);
  if (call.op == Op::softmax_cross_entropy_backward) return run_cross_entropy_backward(call, place);
  const Operand& x = call[0];
  const Index k = x.shape[static_cast<std::size_t>(x.rank - 1)], count = x.count();
  if (count == 0) return;
  const Index rows = count / k;
  const cudaStream_t stream = native(place.stream);
  const unsigned blocks = blocks_for(rows, kRowsOfBlock);
  with_real(x.dtype, [&]<class T>(T) {
    if (call.op == Op::softmax || call.op == Op::log_softmax)
      launch(softmax_kernel<T>, blocks, kThreads, stream, rows, k, data<T>(call[0]), data<T>(call[1]),
             call.op == Op::log_softmax);
    else
      launch(softmax_backward_kernel<T>, blocks, kThreads, stream, rows, k, data<T>(call[0]),
             data<T>(call[1]), data<T>(call[2]), call.op == Op::log_softmax_backward);
  });
}

}  // namespace ronde::inline v0::cuda
