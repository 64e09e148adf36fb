// Batch normalisation of rows of c channels. Per channel, sums are doubles; per element, float.
#include <algorithm>
#include <cmath>

#include "backend/onednn/backend.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

std::int64_t row_count(const Tensor& x) {
  return x.count() == 0 ? 0 : x.count() / x.shape().back();
}

std::int64_t grain_of_rows(std::int64_t c) {
  return std::max<std::int64_t>(kElementGrain / std::max<std::int64_t>(c, 1), 1);
}

bool takes_values(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& gamma, const Tensor& beta) {
  return dense_floats(out, x, mean, variance) && dense_or_missing(gamma) && dense_or_missing(beta);
}

bool takes_gradients(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                     const Tensor& grad_out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                     const Tensor& gamma) {
  return dense_floats(grad_x, grad_out, x, mean, variance) && dense_or_missing(gamma) &&
         dense_or_missing(grad_gamma) && dense_or_missing(grad_beta) && x.count() > 0;
}

double inverse_deviation(const Tensor& variance, std::int64_t c, double epsilon) {
  return 1 / std::sqrt(static_cast<double>(variance.data<float>()[c]) + epsilon);
}

}  // namespace

void OneDnnBackend::batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  if (!dense_floats(mean, variance, x) || x.count() == 0)
    return CpuBackend::batch_statistics(mean, variance, x);
  const std::int64_t rows = row_count(x), c = mean.count();
  const float* from = x.data<float>();
  const Scratch<double> totals(*this, c);
  sum_over_rows(*this, totals.data(), rows, c, [&](double* sums, std::int64_t row, std::int64_t count) {
    kernels_.sum_columns(sums, from + row * c, count, c);
  });
  float* center = mean.data<float>();
  for (std::int64_t i = 0; i < c; ++i)
    center[i] = static_cast<float>(totals.data()[i] / static_cast<double>(rows));
  sum_over_rows(*this, totals.data(), rows, c, [&](double* sums, std::int64_t row, std::int64_t count) {
    kernels_.sum_squared_distances(sums, from + row * c, center, count, c);
  });
  for (std::int64_t i = 0; i < c; ++i)
    variance.data<float>()[i] = static_cast<float>(totals.data()[i] / static_cast<double>(rows));
}

void OneDnnBackend::normalise(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                              const Tensor& gamma, const Tensor& beta, BatchNormParams params,
                              Epilogue epilogue) {
  const std::int64_t c = mean.count();
  const Scratch<float> columns(*this, 2 * c);
  float *scale = columns.data(), *shift = scale + c;
  for (std::int64_t i = 0; i < c; ++i) {
    const double factor = gamma.defined() ? static_cast<double>(gamma.data<float>()[i]) : 1.0;
    scale[i] = static_cast<float>(factor * inverse_deviation(variance, i, params.epsilon));
    shift[i] = beta.defined() ? beta.data<float>()[i] : 0.0f;
  }
  float* to = out.data<float>();
  const float *from = x.data<float>(), *center = mean.data<float>();
  threads().parallel_for(row_count(x), grain_of_rows(c), [&](std::int64_t begin, std::int64_t end) {
    kernels_.scale_columns(to + begin * c, from + begin * c, center, scale, shift, end - begin, c, epilogue);
  });
}

void OneDnnBackend::batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                               const Tensor& gamma, const Tensor& beta, BatchNormParams params) {
  if (!takes_values(out, x, mean, variance, gamma, beta))
    return CpuBackend::batch_norm(out, x, mean, variance, gamma, beta, params);
  normalise(out, x, mean, variance, gamma, beta, params, Epilogue::none);
}

void OneDnnBackend::batch_norm_relu(const Tensor& out, const Tensor& x, const Tensor& mean,
                                    const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                    BatchNormParams params) {
  if (!takes_values(out, x, mean, variance, gamma, beta))
    return CpuBackend::batch_norm_relu(out, x, mean, variance, gamma, beta, params);
  normalise(out, x, mean, variance, gamma, beta, params, Epilogue::relu);
}

void OneDnnBackend::normalise_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                       const Tensor& grad_beta, const Tensor& grad_out, const float* y,
                                       const Tensor& x, const Tensor& mean, const Tensor& variance,
                                       const Tensor& gamma, BatchNormParams params) {
  const std::int64_t rows = row_count(x), c = mean.count();
  const float *g = grad_out.data<float>(), *from = x.data<float>(), *center = mean.data<float>();
  const auto of_result = [=](std::int64_t row) { return y ? y + row * c : nullptr; };
  const Scratch<double> totals(*this, 2 * c);
  const double *sum_g = totals.data(), *sum_gx = sum_g + c;  // of g, and of g * (x - mean)
  sum_over_rows(*this, totals.data(), rows, 2 * c, [&](double* sums, std::int64_t row, std::int64_t count) {
    kernels_.sum_gradients(sums, sums + c, g + row * c, of_result(row), from + row * c, center, count, c);
  });
  // grad_x = gamma / deviation * (g - mean(g) - (x - mean) * mean(g * (x - mean)) / deviation^2)
  const Scratch<float> columns(*this, 3 * c);
  float *scale = columns.data(), *mean_g = scale + c, *slope = mean_g + c;
  for (std::int64_t i = 0; i < c; ++i) {
    const double inverse = inverse_deviation(variance, i, params.epsilon);
    const double factor = gamma.defined() ? static_cast<double>(gamma.data<float>()[i]) : 1.0;
    scale[i] = static_cast<float>(factor * inverse);
    mean_g[i] = static_cast<float>(sum_g[i] / static_cast<double>(rows));
    slope[i] = static_cast<float>(sum_gx[i] * inverse * inverse / static_cast<double>(rows));
    if (grad_beta.defined()) grad_beta.data<float>()[i] = static_cast<float>(sum_g[i]);
    if (grad_gamma.defined()) grad_gamma.data<float>()[i] = static_cast<float>(sum_gx[i] * inverse);
  }
  float* to = grad_x.data<float>();
  threads().parallel_for(rows, grain_of_rows(c), [&](std::int64_t begin, std::int64_t end) {
    kernels_.batch_norm_backward(to + begin * c, g + begin * c, of_result(begin), from + begin * c, center,
                                 scale, mean_g, slope, end - begin, c);
  });
}

void OneDnnBackend::batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                        const Tensor& grad_beta, const Tensor& grad_out, const Tensor& x,
                                        const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                                        BatchNormParams params) {
  if (!takes_gradients(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma))
    return CpuBackend::batch_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma,
                                           params);
  normalise_backward(grad_x, grad_gamma, grad_beta, grad_out, nullptr, x, mean, variance, gamma, params);
}

void OneDnnBackend::batch_norm_relu_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                             const Tensor& grad_beta, const Tensor& grad_out,
                                             const Tensor& out, const Tensor& x, const Tensor& mean,
                                             const Tensor& variance, const Tensor& gamma,
                                             BatchNormParams params) {
  if (!takes_gradients(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma) ||
      !dense_floats(out))
    return CpuBackend::batch_norm_relu_backward(grad_x, grad_gamma, grad_beta, grad_out, out, x, mean,
                                                variance, gamma, params);
  normalise_backward(grad_x, grad_gamma, grad_beta, grad_out, out.data<float>(), x, mean, variance, gamma,
                     params);
}

}  // namespace ronde::inline v0
