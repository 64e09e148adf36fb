// Batch normalisation over the last axis: a block a channel, sums in double.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T>
__global__ void statistics_kernel(Index rows, Index channels, T* mean, T* variance, const T* x) {
  // Without rows both are 0, not NaN: a rank may have no samples.
  const double scale = 1.0 / static_cast<double>(rows > 0 ? rows : 1);
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    double total = 0;
    for (Index row = threadIdx.x; row < rows; row += blockDim.x)
      total += static_cast<double>(x[row * channels + c]);
    const double average = sum_block(total) * scale;
    double squares = 0;
    for (Index row = threadIdx.x; row < rows; row += blockDim.x) {
      const double distance = static_cast<double>(x[row * channels + c]) - average;
      squares += distance * distance;
    }
    squares = sum_block(squares);
    if (threadIdx.x != 0) continue;
    mean[c] = static_cast<T>(average);
    variance[c] = static_cast<T>(squares * scale);
  }
}

template <class T>
__device__ double value_or(const T* values, Index c, double otherwise) {
  return values ? static_cast<double>(values[c]) : otherwise;
}

template <class T>
__global__ void normalise_kernel(Index count, Index channels, T* out, const T* x, const T* mean,
                                 const T* variance, const T* gamma, const T* beta, double epsilon) {
  for (Index i = first_element(); i < count; i += element_step()) {
    const Index c = i % channels;
    const double deviation = 1.0 / sqrt(static_cast<double>(variance[c]) + epsilon);
    const double normalised = (static_cast<double>(x[i]) - static_cast<double>(mean[c])) * deviation;
    out[i] = static_cast<T>(normalised * value_or(gamma, c, 1.0) + value_or(beta, c, 0.0));
  }
}

// grad_x = gamma / deviation * (grad - mean(grad) - x^ * mean(grad * x^)), with x^ the normalised x
template <class T>
__global__ void backward_kernel(Index rows, Index channels, T* grad_x, T* grad_gamma, T* grad_beta,
                                const T* grad, const T* x, const T* mean, const T* variance, const T* gamma,
                                double epsilon) {
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    const double deviation = 1.0 / sqrt(static_cast<double>(variance[c]) + epsilon);
    const auto average = static_cast<double>(mean[c]);
    double sum = 0, sum_x = 0;
    for (Index row = threadIdx.x; row < rows; row += blockDim.x) {
      const Index i = row * channels + c;
      sum += static_cast<double>(grad[i]);
      sum_x += static_cast<double>(grad[i]) * (static_cast<double>(x[i]) - average) * deviation;
    }
    sum = sum_block(sum);
    sum_x = sum_block(sum_x);
    const double factor = deviation * value_or(gamma, c, 1.0), count = static_cast<double>(rows);
    for (Index row = threadIdx.x; row < rows; row += blockDim.x) {
      const Index i = row * channels + c;
      const double normalised = (static_cast<double>(x[i]) - average) * deviation;
      grad_x[i] =
          static_cast<T>(factor * (static_cast<double>(grad[i]) - sum / count - normalised * sum_x / count));
    }
    if (threadIdx.x != 0) continue;
    if (grad_gamma) grad_gamma[c] = static_cast<T>(sum_x);
    if (grad_beta) grad_beta[c] = static_cast<T>(sum);
  }
}

}  // namespace

void run_batch_norm(const Call& call, const Place& place) {
  const bool is_forward = call.op == Op::batch_norm, is_statistics = call.op == Op::batch_statistics;
  const Operand& x = is_statistics ? call[2] : is_forward ? call[1] : call[4];
  const Index channels = x.shape[static_cast<std::size_t>(x.rank - 1)];
  if (channels == 0) return;
  const Index count = x.count(), rows = count / channels;
  const cudaStream_t stream = native(place.stream);
  const unsigned blocks = blocks_for(channels, 1);
  const double epsilon = call.attributes.batch_norm.epsilon;
  with_real(x.dtype, [&]<class T>(T) {
    if (is_statistics)
      statistics_kernel<T>
          <<<blocks, kThreads, 0, stream>>>(rows, channels, data<T>(call[0]), data<T>(call[1]), data<T>(x));
    else if (is_forward && count > 0)
      normalise_kernel<T><<<blocks_for(count), kThreads, 0, stream>>>(
          count, channels, data<T>(call[0]), data<T>(x), data<T>(call[2]), data<T>(call[3]), data<T>(call[4]),
          data<T>(call[5]), epsilon);
    else if (!is_forward)
      backward_kernel<T><<<blocks, kThreads, 0, stream>>>(
          rows, channels, data<T>(call[0]), data<T>(call[1]), data<T>(call[2]), data<T>(call[3]), data<T>(x),
          data<T>(call[5]), data<T>(call[6]), data<T>(call[7]), epsilon);
  });
}

}  // namespace ronde::inline v0::cuda
