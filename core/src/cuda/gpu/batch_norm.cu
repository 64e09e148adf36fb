// Batch normalisation over the last axis: a block a channel, sums in double.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T, class Channels>
__global__ void statistics_kernel(Index rows, Index channels, Channels* mean, Channels* variance,
                                  const T* x) {
  // Without rows both are 0, not NaN: a rank may have no samples.
  const double scale = 1.0 / static_cast<double>(rows > 0 ? rows : 1);
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    double total = 0;
    for (Index row = threadIdx.x; row < rows; row += blockDim.x) total += wider(x[row * channels + c]);
    const double average = sum_block(total) * scale;
    double squares = 0;
    for (Index row = threadIdx.x; row < rows; row += blockDim.x) {
      const double distance = wider(x[row * channels + c]) - average;
      squares += distance * distance;
    }
    squares = sum_block(squares);
    if (threadIdx.x != 0) continue;
    mean[c] = rounded<Channels>(average);
    variance[c] = rounded<Channels>(squares * scale);
  }
}

template <class Channels>
__device__ double value_or(const Channels* values, Index c, double otherwise) {
  return values ? wider(values[c]) : otherwise;
}

template <class T, class Channels>
__global__ void normalise_kernel(Index count, Index channels, T* out, const T* x, const Channels* mean,
                                 const Channels* variance, const Channels* gamma, const Channels* beta,
                                 double epsilon) {
  for (Index i = first_element(); i < count; i += element_step()) {
    const Index c = i % channels;
    const double deviation = 1.0 / sqrt(wider(variance[c]) + epsilon);
    const double normalised = (wider(x[i]) - wider(mean[c])) * deviation;
    out[i] = rounded<T>(normalised * value_or(gamma, c, 1.0) + value_or(beta, c, 0.0));
  }
}

// grad_x = gamma / deviation * (grad - mean(grad) - x^ * mean(grad * x^)), with x^ the normalised x
template <class T, class Channels>
__global__ void backward_kernel(Index rows, Index channels, T* grad_x, Channels* grad_gamma,
                                Channels* grad_beta, const T* grad, const T* x, const Channels* mean,
                                const Channels* variance, const Channels* gamma, double epsilon) {
  for (Index c = blockIdx.x; c < channels; c += gridDim.x) {
    const double deviation = 1.0 / sqrt(wider(variance[c]) + epsilon);
    const double average = wider(mean[c]);
    double sum = 0, sum_x = 0;
    for (Index row = threadIdx.x; row < rows; row += blockDim.x) {
      const Index i = row * channels + c;
      sum += wider(grad[i]);
      sum_x += wider(grad[i]) * (wider(x[i]) - average) * deviation;
    }
    sum = sum_block(sum);
    sum_x = sum_block(sum_x);
    const double factor = deviation * value_or(gamma, c, 1.0), count = static_cast<double>(rows);
    for (Index row = threadIdx.x; row < rows; row += blockDim.x) {
      const Index i = row * channels + c;
      const double normalised = (wider(x[i]) - average) * deviation;
      grad_x[i] = rounded<T>(factor * (wider(grad[i]) - sum / count - normalised * sum_x / count));
    }
    if (threadIdx.x != 0) continue;
    if (grad_gamma) grad_gamma[c] = rounded<Channels>(sum_x);
    if (grad_beta) grad_beta[c] = rounded<Channels>(sum);
  }
}

}  // namespace

void run_batch_norm(const Call& call, const Place& place) {
  const bool is_forward = call.op == Op::batch_norm, is_statistics = call.op == Op::batch_statistics;
  const Operand& x = is_statistics ? call[2] : is_forward ? call[1] : call[4];
  const Operand& mean = is_statistics ? call[0] : is_forward ? call[2] : call[5];
  const Index channels = x.shape[static_cast<std::size_t>(x.rank - 1)];
  if (channels == 0) return;
  const Index count = x.count(), rows = count / channels;
  const cudaStream_t stream = native(place.stream);
  const unsigned blocks = blocks_for(channels, 1);
  const double epsilon = call.attributes.batch_norm.epsilon;
  with_reals(x.dtype, mean.dtype, [&]<class T, class Channels>(T, Channels) {
    const auto at = [&](int i) { return data<T>(call[i]); };
    const auto of_channels = [&](int i) { return data<Channels>(call[i]); };
    if (is_statistics)
      launch(statistics_kernel<T, Channels>, blocks, kThreads, stream, rows, channels, of_channels(0),
             of_channels(1), at(2));
    else if (is_forward && count > 0)
      launch(normalise_kernel<T, Channels>, blocks_for(count), kThreads, stream, count, channels, at(0),
             at(1), of_channels(2), of_channels(3), of_channels(4), of_channels(5), epsilon);
    else if (!is_forward)
      launch(backward_kernel<T, Channels>, blocks, kThreads, stream, rows, channels, at(0), of_channels(1),
             of_channels(2), at(3), at(4), of_channels(5), of_channels(6), of_channels(7), epsilon);
  });
}

}  // namespace ronde::inline v0::cuda
