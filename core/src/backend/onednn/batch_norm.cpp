// Batch normalisation of rows of c channels. Per channel, sums are doubles; per element, float.
//
// Large batches fill no cache, so what counts is how often they go by. The gradient behind an activation
// needs what the activation got: that is made of x again, in the cache, rather than read from memory. A relu
// is cheap, and its gradient is made in both passes over the batch; another activation's is made in the first
// one and waits in grad_x, and that of a relu behind a sum in the gradient of the addend, which is that
// gradient.
#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

std::int64_t row_count(const Tensor& x) {
  return x.count() == 0 ? 0 : x.count() / x.shape().back();
}

// Sums of g, and of g * (x - mean); where g is behind an activation that is no relu, it is left in grad_x.
void sum_norm_gradients(Backend& backend, const Kernels& kernels, double* totals, const Tensor& grad_x,
                        const Tensor& grad_out, const Tensor& x, const NormMap& map) {
  const std::int64_t rows = row_count(x), c = map.channels();
  sum_over_rows(backend, totals, rows, 2 * c, [&](double* sums, std::int64_t row, std::int64_t count) {
    const std::int64_t most = map.has_other_activation()
                                  ? std::min(count, kSummedInFloat)
                                  : rows_at_a_time(count, c, kSummedInFloat, grad_out, x);
    const WrittenRows before_activation(backend, kernels, grad_x, rows, most);
    const Scratch<float> norm(backend, map.has_other_activation() ? most * c : 0);
    const ReadRows behind(backend, kernels, grad_out, rows, most), from(backend, kernels, x, rows, most);
    in_pieces(row, row + count, most, [&](std::int64_t first, std::int64_t some) {
      const float *g = behind(first, some), *values = from(first, some);
      if (map.has_other_activation()) {
        float* here = before_activation.room(first);
        map.activation_backward(here, norm.data(), g, values, some);
        g = here;
      }
      kernels.sum_gradients(sums, sums + c, g, values, map.columns(), some, c);
      if (map.has_other_activation()) before_activation.keep(first, some);
    });
  });
}

// Of the sums and the gradient they were made of.
void write_norm_gradients(Backend& backend, const Kernels& kernels, const NormGradients& to,
                          const double* totals, const Tensor& grad, const Tensor& x, const NormMap& map) {
  const std::int64_t rows = row_count(x), c = map.channels();
  const double *sum_g = totals, *sum_gx = sum_g + c;
  // grad_x = gamma / deviation * (g - mean(g) - (x - mean) * mean(g * (x - mean)) / deviation^2)
  const Scratch<float> columns(backend, 2 * map.width());
  float *mean_g = columns.data(), *slope = mean_g + map.width();
  for (std::int64_t i = 0; i < c; ++i) {
    const double inverse = map.inverse_deviation(i);
    mean_g[i] = static_cast<float>(sum_g[i] / static_cast<double>(rows));
    slope[i] = static_cast<float>(sum_gx[i] * inverse * inverse / static_cast<double>(rows));
    if (to.beta.defined()) to.beta.data<float>()[i] = static_cast<float>(sum_g[i]);
    if (to.gamma.defined()) to.gamma.data<float>()[i] = static_cast<float>(sum_gx[i] * inverse);
  }
  for (float* values : {mean_g, slope}) map.repeat(values);
  backend.threads().parallel_for(rows, grain_of_rows(c), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = rows_at_a_time(end - begin, c, 1, to.x, grad, x);
    const WrittenRows grad_x(backend, kernels, to.x, rows, most);
    const ReadRows g(backend, kernels, grad, rows, most), from(backend, kernels, x, rows, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      kernels.batch_norm_backward(grad_x.room(first), g(first, some), from(first, some), map.columns(),
                                  mean_g, slope, some * c, map.width());
      grad_x.keep(first, some);
    });
  });
}

void normalise_backward(Backend& backend, const Kernels& kernels, const NormGradients& to,
                        const Tensor& grad_out, const Tensor& x, const NormMap& map) {
  const Scratch<double> totals(backend, 2 * map.channels());
  sum_norm_gradients(backend, kernels, totals.data(), to.x, grad_out, x, map);
  write_norm_gradients(backend, kernels, to, totals.data(), map.has_other_activation() ? to.x : grad_out, x,
                       map);
}

}  // namespace

void OneDnnBackend::batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  if (!dense_floats(mean, variance) || !dense_values(x) || x.count() == 0)
    return WithBfloat16::batch_statistics(mean, variance, x);
  const std::int64_t rows = row_count(x), c = mean.count();
  const Scratch<double> totals(*this, 2 * c);
  const Scratch<float> origin(*this, c);
  std::copy_n(ReadRows(*this, kernels_, x, rows, 1)(0, 1), c, origin.data());
  sum_over_rows(*this, kernels_, totals.data(), 2 * c, x, c,
                [&](double* sums, const float* from, std::int64_t some) {
                  kernels_.sum_distances(sums, sums + c, from, origin.data(), some, c);
                });
  const auto n = static_cast<double>(rows);
  for (std::int64_t i = 0; i < c; ++i) {
    const double distance = totals.data()[i] / n, squares = totals.data()[c + i] / n;
    mean.data<float>()[i] = static_cast<float>(static_cast<double>(origin.data()[i]) + distance);
    variance.data<float>()[i] = static_cast<float>(squares - distance * distance);
  }
}

void OneDnnBackend::batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                               const Tensor& gamma, const Tensor& beta, BatchNormParams params) {
  if (!dense_values(out, x) || !takes_norm({mean, variance, gamma, beta}))
    return WithBfloat16::batch_norm(out, x, mean, variance, gamma, beta, params);
  normalise(out, x, NormMap(*this, kernels_, {mean, variance, gamma, beta}, params, {}));
}

void OneDnnBackend::batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean,
                                          const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                          BatchNormParams params, UnaryStage activation) {
  if (!dense_values(out, x) || !takes_norm({mean, variance, gamma, beta}) ||
      !NormMap::takes(kernels_, activation))
    return WithBfloat16::batch_norm_activation(out, x, mean, variance, gamma, beta, params, activation);
  normalise(out, x, NormMap(*this, kernels_, {mean, variance, gamma, beta}, params, activation));
}

void OneDnnBackend::batch_norm_add(const Tensor& out, const Tensor& x, const NormStage& norm,
                                   const Tensor& addend) {
  const auto& [mean, variance, gamma, beta, params, activation] = norm;
  if (!dense_values(out, x, addend) || !takes_norm({mean, variance, gamma, beta}))
    return WithBfloat16::batch_norm_add(out, x, norm, addend);
  normalise(out, x, NormMap(*this, kernels_, {mean, variance, gamma, beta}, params, activation), addend);
}

void OneDnnBackend::normalise(const Tensor& out, const Tensor& x, const NormMap& map, const Tensor& addend) {
  const std::int64_t rows = row_count(x), c = map.channels();
  threads().parallel_for(rows, grain_of_rows(c), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = rows_at_a_time(end - begin, c, 1, out, x, addend);
    const WrittenRows to(*this, kernels_, out, rows, most);
    const ReadRows from(*this, kernels_, x, rows, most), added(*this, kernels_, addend, rows, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      map(to.room(first), from(first, some), some, added(first, some));
      to.keep(first, some);
    });
  });
}

void OneDnnBackend::batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                        const Tensor& grad_beta, const Tensor& grad_out, const Tensor& x,
                                        const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                                        BatchNormParams params) {
  if (!dense_values(grad_x, grad_out, x) || !takes_norm({mean, variance, gamma, {}}) ||
      !dense_or_missing(grad_gamma) || !dense_or_missing(grad_beta) || x.count() == 0)
    return WithBfloat16::batch_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance,
                                             gamma, params);
  normalise_backward(*this, kernels_, {grad_x, grad_gamma, grad_beta}, grad_out, x,
                     NormMap(*this, kernels_, {mean, variance, gamma, {}}, params, {}));
}

void OneDnnBackend::batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                                   const Tensor& grad_beta, const Tensor& grad_out,
                                                   const Tensor& x, const Tensor& mean,
                                                   const Tensor& variance, const Tensor& gamma,
                                                   const Tensor& beta, BatchNormParams params,
                                                   UnaryStage activation) {
  if (!dense_values(grad_x, grad_out, x) || !takes_norm({mean, variance, gamma, beta}) ||
      !dense_or_missing(grad_gamma) || !dense_or_missing(grad_beta) || x.count() == 0 ||
      !NormMap::takes_gradient(activation))
    return WithBfloat16::batch_norm_activation_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean,
                                                        variance, gamma, beta, params, activation);
  normalise_backward(*this, kernels_, {grad_x, grad_gamma, grad_beta}, grad_out, x,
                     NormMap(*this, kernels_, {mean, variance, gamma, beta}, params, activation));
}

// Of bfloat16, which would be widened in the first pass, its parts take four fifths of the time.
void OneDnnBackend::batch_norm_add_relu_backward(const NormGradients& grads, const Tensor& grad_addend,
                                                 const Tensor& grad_out, const Tensor& out, const Tensor& x,
                                                 const NormStage& norm) {
  const auto& [mean, variance, gamma, beta, params, activation] = norm;
  if (!dense_floats(grads.x, grad_addend, grad_out, out, x) || !takes_norm({mean, variance, gamma, {}}) ||
      !dense_or_missing(grads.gamma) || !dense_or_missing(grads.beta) || x.count() == 0)
    return WithBfloat16::batch_norm_add_relu_backward(grads, grad_addend, grad_out, out, x, norm);
  const NormMap map(*this, kernels_, {mean, variance, gamma, {}}, params, {});
  const std::int64_t rows = row_count(x), c = map.channels();
  const Scratch<double> totals(*this, 2 * c);
  sum_over_rows(*this, totals.data(), rows, 2 * c, [&](double* sums, std::int64_t row, std::int64_t count) {
    const std::int64_t first = row * c;
    kernels_.sum_passed_gradients(sums, sums + c, grad_addend.data<float>() + first,
                                  grad_out.data<float>() + first, out.data<float>() + first,
                                  x.data<float>() + first, map.columns(), count, c);
  });
  write_norm_gradients(*this, kernels_, grads, totals.data(), grad_addend, x, map);
}

}  // namespace ronde::inline v0
