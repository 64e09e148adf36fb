// Batch normalisation of rows of c channels. Per channel, sums are doubles; per element, float.
#include <algorithm>
#include <cmath>

#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

std::int64_t row_count(const Tensor& x) {
  return x.count() == 0 ? 0 : x.count() / x.shape().back();
}

/// As the kernels do before they add to doubles.
constexpr std::int64_t kSummedInFloat = 64;

float highest(const BatchNormParams& params) {
  return static_cast<float>(params.highest);
}

std::int64_t grain_of_rows(std::int64_t c) {
  return std::max<std::int64_t>(kElementGrain / std::max<std::int64_t>(c, 1), 1);
}

bool takes_values(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& gamma, const Tensor& beta) {
  return dense_values(out, x) && dense_floats(mean, variance) && dense_or_missing(gamma) &&
         dense_or_missing(beta);
}

bool takes_gradients(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                     const Tensor& grad_out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                     const Tensor& gamma) {
  return dense_values(grad_x, grad_out, x) && dense_floats(mean, variance) && dense_or_missing(gamma) &&
         dense_or_missing(grad_gamma) && dense_or_missing(grad_beta) && x.count() > 0;
}

double inverse_deviation(const Tensor& variance, std::int64_t c, double epsilon) {
  return 1 / std::sqrt(static_cast<double>(variance.data<float>()[c]) + epsilon);
}

}  // namespace

void OneDnnBackend::batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  if (!dense_floats(mean, variance) || !dense_values(x) || x.count() == 0)
    return WithBfloat16::batch_statistics(mean, variance, x);
  const std::int64_t rows = row_count(x), c = mean.count();
  const Scratch<double> totals(*this, c);
  const auto sum = [&](const auto& add) {
    sum_over_rows(*this, totals.data(), rows, c, [&](double* sums, std::int64_t row, std::int64_t count) {
      const std::int64_t most = rows_at_a_time(count, c, kSummedInFloat, x);
      const ReadRows from(*this, kernels_, x, rows, most);
      in_pieces(row, row + count, most,
                [&](std::int64_t first, std::int64_t some) { add(sums, from(first, some), some); });
    });
  };
  sum([&](double* sums, const float* from, std::int64_t some) { kernels_.sum_columns(sums, from, some, c); });
  float* center = mean.data<float>();
  for (std::int64_t i = 0; i < c; ++i)
    center[i] = static_cast<float>(totals.data()[i] / static_cast<double>(rows));
  sum([&](double* sums, const float* from, std::int64_t some) {
    kernels_.sum_squared_distances(sums, from, center, some, c);
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
  const std::int64_t rows = row_count(x);
  threads().parallel_for(rows, grain_of_rows(c), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = rows_at_a_time(end - begin, c, 1, out, x);
    const WrittenRows to(*this, kernels_, out, rows, most);
    const ReadRows from(*this, kernels_, x, rows, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      kernels_.scale_columns(to.room(first), from(first, some), mean.data<float>(), scale, shift, some, c,
                             epilogue, highest(params));
      to.keep(first, some);
    });
  });
}

void OneDnnBackend::batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                               const Tensor& gamma, const Tensor& beta, BatchNormParams params) {
  if (!takes_values(out, x, mean, variance, gamma, beta))
    return WithBfloat16::batch_norm(out, x, mean, variance, gamma, beta, params);
  normalise(out, x, mean, variance, gamma, beta, params, Epilogue::none);
}

void OneDnnBackend::batch_norm_relu(const Tensor& out, const Tensor& x, const Tensor& mean,
                                    const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                    BatchNormParams params) {
  if (!takes_values(out, x, mean, variance, gamma, beta))
    return WithBfloat16::batch_norm_relu(out, x, mean, variance, gamma, beta, params);
  normalise(out, x, mean, variance, gamma, beta, params, Epilogue::relu);
}

void OneDnnBackend::normalise_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                       const Tensor& grad_beta, const Tensor& grad_out, const Tensor& y,
                                       const Tensor& x, const Tensor& mean, const Tensor& variance,
                                       const Tensor& gamma, BatchNormParams params) {
  const std::int64_t rows = row_count(x), c = mean.count();
  const float* center = mean.data<float>();
  const Scratch<double> totals(*this, 2 * c);
  const double *sum_g = totals.data(), *sum_gx = sum_g + c;  // of g, and of g * (x - mean)
  sum_over_rows(*this, totals.data(), rows, 2 * c, [&](double* sums, std::int64_t row, std::int64_t count) {
    const std::int64_t most = rows_at_a_time(count, c, kSummedInFloat, grad_out, y, x);
    const ReadRows g(*this, kernels_, grad_out, rows, most), result(*this, kernels_, y, rows, most),
        from(*this, kernels_, x, rows, most);
    in_pieces(row, row + count, most, [&](std::int64_t first, std::int64_t some) {
      kernels_.sum_gradients(sums, sums + c, g(first, some), {result(first, some), highest(params)},
                             from(first, some), center, some, c);
    });
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
  threads().parallel_for(rows, grain_of_rows(c), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = rows_at_a_time(end - begin, c, 1, grad_x, grad_out, y, x);
    const WrittenRows to(*this, kernels_, grad_x, rows, most);
    const ReadRows g(*this, kernels_, grad_out, rows, most), result(*this, kernels_, y, rows, most),
        from(*this, kernels_, x, rows, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      kernels_.batch_norm_backward(to.room(first), g(first, some), {result(first, some), highest(params)},
                                   from(first, some), center, scale, mean_g, slope, some, c);
      to.keep(first, some);
    });
  });
}

void OneDnnBackend::batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                        const Tensor& grad_beta, const Tensor& grad_out, const Tensor& x,
                                        const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                                        BatchNormParams params) {
  if (!takes_gradients(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma))
    return WithBfloat16::batch_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance,
                                             gamma, params);
  normalise_backward(grad_x, grad_gamma, grad_beta, grad_out, {}, x, mean, variance, gamma, params);
}

void OneDnnBackend::batch_norm_relu_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                             const Tensor& grad_beta, const Tensor& grad_out,
                                             const Tensor& out, const Tensor& x, const Tensor& mean,
                                             const Tensor& variance, const Tensor& gamma,
                                             BatchNormParams params) {
  if (!takes_gradients(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma) ||
      !dense_values(out))
    return WithBfloat16::batch_norm_relu_backward(grad_x, grad_gamma, grad_beta, grad_out, out, x, mean,
                                                  variance, gamma, params);
  normalise_backward(grad_x, grad_gamma, grad_beta, grad_out, out, x, mean, variance, gamma, params);
}

}  // namespace ronde::inline v0
