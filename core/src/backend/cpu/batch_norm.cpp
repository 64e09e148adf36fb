// Batch normalisation: channels are the last axis, everything before it is a row. Sums are doubles in row
// order; threads share the channels, so the result does not depend on their number.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/matrix.h"

namespace ronde::inline v0 {

namespace {

// Enough channels to use whole cache lines.
constexpr std::int64_t kChannelGrain = 16;
constexpr std::int64_t kRowGrain = 256;

struct Rows {
  std::int64_t rows, channels;
  explicit Rows(const Tensor& x)
      : rows(x.count() == 0 ? 0 : x.count() / x.shape().back()), channels(x.shape().back()) {}
};

// Adds up `term(element, channel)` over all rows, for each channel; an element is an index into x.
template <class F>
std::vector<double> sum_rows(ThreadPool& pool, const Rows& size, F&& term) {
  std::vector<double> sums(static_cast<std::size_t>(size.channels), 0.0);
  pool.parallel_for(size.channels, kChannelGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < size.rows; ++row)
      for (std::int64_t c = begin; c < end; ++c)
        sums[static_cast<std::size_t>(c)] += term(row * size.channels + c, c);
  });
  return sums;
}

// Writes to[element] = f(element, channel) for all elements.
template <class T, class F>
void write_rows(ThreadPool& pool, const Rows& size, T* to, F&& f) {
  pool.parallel_for(size.rows, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t c = 0; c < size.channels; ++c) {
        const std::int64_t element = row * size.channels + c;
        to[element] = static_cast<T>(f(element, c));
      }
  });
}

template <class T>
void write(const Tensor& out, const std::vector<double>& values, double scale) {
  for (std::size_t i = 0; i < values.size(); ++i) out.data<T>()[i] = static_cast<T>(values[i] * scale);
}

// (x - mean) / sqrt(variance + epsilon)
template <class T>
class Normaliser {
 public:
  Normaliser(const Tensor& x, const Tensor& mean, const Tensor& variance, double epsilon)
      : x_(x.data<T>()), mean_(mean.data<T>()), inverse_deviation_(static_cast<std::size_t>(mean.count())) {
    for (std::size_t c = 0; c < inverse_deviation_.size(); ++c)
      inverse_deviation_[c] = 1 / std::sqrt(static_cast<double>(variance.data<T>()[c]) + epsilon);
  }
  double inverse_deviation(std::int64_t c) const { return inverse_deviation_[static_cast<std::size_t>(c)]; }
  double operator()(std::int64_t element, std::int64_t c) const {
    return (static_cast<double>(x_[element]) - static_cast<double>(mean_[c])) * inverse_deviation(c);
  }

 private:
  const T* x_;
  const T* mean_;
  std::vector<double> inverse_deviation_;
};

}  // namespace

void CpuBackend::batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  const Rows size(x);
  // Without rows both are 0, not NaN: a rank may have no samples.
  const double scale = 1.0 / static_cast<double>(std::max<std::int64_t>(size.rows, 1));
  visit_real(x.dtype(), "batch_statistics", [&]<class T>(T) {
    const T* from = x.data<T>();
    std::vector<double> means =
        sum_rows(threads_, size, [&](std::int64_t i, std::int64_t) { return static_cast<double>(from[i]); });
    for (double& m : means) m *= scale;
    const std::vector<double> squares = sum_rows(threads_, size, [&](std::int64_t i, std::int64_t c) {
      const double distance = static_cast<double>(from[i]) - means[static_cast<std::size_t>(c)];
      return distance * distance;
    });
    write<T>(mean, means, 1.0);
    write<T>(variance, squares, scale);
  });
}

void CpuBackend::batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                            const Tensor& gamma, const Tensor& beta, BatchNormParams params) {
  visit_real(out.dtype(), "batch_norm", [&]<class T>(T) {
    const Normaliser<T> normalised(x, mean, variance, params.epsilon);
    const T *scale = data_or_null<T>(gamma), *shift = data_or_null<T>(beta);
    write_rows(threads_, Rows(x), out.data<T>(), [&](std::int64_t i, std::int64_t c) {
      const double factor = scale ? static_cast<double>(scale[c]) : 1.0;
      return normalised(i, c) * factor + (shift ? static_cast<double>(shift[c]) : 0.0);
    });
  });
}

void CpuBackend::batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                     const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                     const Tensor& variance, const Tensor& gamma, BatchNormParams params) {
  // With x^ the normalised x and means over the rows:
  // grad_x = gamma / deviation * (grad_out - mean(grad_out) - x^ * mean(grad_out * x^))
  const Rows size(x);
  visit_real(grad_x.dtype(), "batch_norm_backward", [&]<class T>(T) {
    const Normaliser<T> normalised(x, mean, variance, params.epsilon);
    const T *g = grad_out.data<T>(), *scale = data_or_null<T>(gamma);
    const std::vector<double> sum_g =
        sum_rows(threads_, size, [&](std::int64_t i, std::int64_t) { return static_cast<double>(g[i]); });
    const std::vector<double> sum_gx = sum_rows(threads_, size, [&](std::int64_t i, std::int64_t c) {
      return static_cast<double>(g[i]) * normalised(i, c);
    });
    const auto rows = static_cast<double>(size.rows);
    write_rows(threads_, size, grad_x.data<T>(), [&](std::int64_t i, std::int64_t c) {
      const auto k = static_cast<std::size_t>(c);
      const double factor = normalised.inverse_deviation(c) * (scale ? static_cast<double>(scale[c]) : 1.0);
      return factor * (static_cast<double>(g[i]) - sum_g[k] / rows - normalised(i, c) * sum_gx[k] / rows);
    });
    if (grad_beta.defined()) write<T>(grad_beta, sum_g, 1.0);
    if (grad_gamma.defined()) write<T>(grad_gamma, sum_gx, 1.0);
  });
}

}  // namespace ronde::inline v0
