// Softmax and cross-entropy over the last axis. Each row is computed in double.
#include <algorithm>
#include <cmath>

#include "backend/cpu/class_labels.h"
#include "backend/cpu/cpu_backend.h"

namespace ronde::inline v0 {

namespace {

// Rows of k elements that a thread gets at least.
std::int64_t row_grain(std::int64_t k) {
  return std::max<std::int64_t>(2048 / std::max<std::int64_t>(k, 1), 1);
}

// Calls `f(row, k)` with the index of the row's first element for all rows of x.
template <class F>
void for_each_row(ThreadPool& pool, const Tensor& x, F&& f) {
  const std::int64_t k = x.shape().back();
  const std::int64_t rows = x.count() == 0 ? 0 : x.count() / k;
  pool.parallel_for(rows, row_grain(k), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) f(row * k, k);
  });
}

// log(sum of exp(x)), shifted by the maximum so that nothing overflows.
template <class T>
double log_sum_exp(const T* x, std::int64_t k) {
  const auto largest = static_cast<double>(*std::max_element(x, x + k));
  double total = 0;
  for (std::int64_t i = 0; i < k; ++i) total += std::exp(static_cast<double>(x[i]) - largest);
  return largest + std::log(total);
}

template <class T>
void softmax_row(T* y, const T* x, double normaliser, std::int64_t k) {
  for (std::int64_t i = 0; i < k; ++i)
    y[i] = static_cast<T>(std::exp(static_cast<double>(x[i]) - normaliser));
}

}  // namespace

void CpuBackend::softmax(const Tensor& out, const Tensor& x) {
  visit_real(out.dtype(), "softmax", [&]<class T>(T) {
    T* to = out.data<T>();
    const T* from = x.data<T>();
    for_each_row(threads_, x, [=](std::int64_t row, std::int64_t k) {
      softmax_row(to + row, from + row, log_sum_exp(from + row, k), k);
    });
  });
}

void CpuBackend::softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  // grad_x_i = y_i * (grad_y_i - sum_j grad_y_j y_j)
  visit_real(grad_x.dtype(), "softmax_backward", [&]<class T>(T) {
    T* gx = grad_x.data<T>();
    const T *gy = grad_y.data<T>(), *p = y.data<T>();
    for_each_row(threads_, y, [=](std::int64_t row, std::int64_t k) {
      double dot = 0;
      for (std::int64_t i = row; i < row + k; ++i)
        dot += static_cast<double>(gy[i]) * static_cast<double>(p[i]);
      for (std::int64_t i = row; i < row + k; ++i)
        gx[i] = static_cast<T>(static_cast<double>(p[i]) * (static_cast<double>(gy[i]) - dot));
    });
  });
}

void CpuBackend::log_softmax(const Tensor& out, const Tensor& x) {
  visit_real(out.dtype(), "log_softmax", [&]<class T>(T) {
    T* to = out.data<T>();
    const T* from = x.data<T>();
    for_each_row(threads_, x, [=](std::int64_t row, std::int64_t k) {
      const double normaliser = log_sum_exp(from + row, k);
      for (std::int64_t i = row; i < row + k; ++i)
        to[i] = static_cast<T>(static_cast<double>(from[i]) - normaliser);
    });
  });
}

void CpuBackend::log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  // grad_x_i = grad_y_i - exp(y_i) * sum_j grad_y_j
  visit_real(grad_x.dtype(), "log_softmax_backward", [&]<class T>(T) {
    T* gx = grad_x.data<T>();
    const T *gy = grad_y.data<T>(), *log_p = y.data<T>();
    for_each_row(threads_, y, [=](std::int64_t row, std::int64_t k) {
      double total = 0;
      for (std::int64_t i = row; i < row + k; ++i) total += static_cast<double>(gy[i]);
      for (std::int64_t i = row; i < row + k; ++i)
        gx[i] = static_cast<T>(static_cast<double>(gy[i]) - std::exp(static_cast<double>(log_p[i])) * total);
    });
  });
}

void CpuBackend::softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities,
                                       const Tensor& logits, const Tensor& labels, double smoothing) {
  const std::int64_t classes = logits.size(1);
  const std::int32_t* label = checked_labels(labels, classes);
  visit_real(logits.dtype(), "softmax_cross_entropy", [&]<class T>(T) {
    T *loss = losses.data<T>(), *p = probabilities.data<T>();
    const T* z = logits.data<T>();
    // The targets of a row add up to 1, so its loss is log-sum-exp minus the logits weighted by the targets.
    // A class that is masked by a logit of -inf has a weight by smoothing only.
    for_each_row(threads_, logits, [=](std::int64_t row, std::int64_t k) {
      double weighted = (1 - smoothing) * static_cast<double>(z[row + label[row / k]]);
      for (std::int64_t i = row; i < row + k && smoothing != 0; ++i)
        weighted += smoothing / static_cast<double>(k) * static_cast<double>(z[i]);
      const double normaliser = log_sum_exp(z + row, k);
      loss[row / k] = static_cast<T>(normaliser - weighted);
      softmax_row(p + row, z + row, normaliser, k);
    });
  });
}

void CpuBackend::softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                                const Tensor& probabilities, const Tensor& labels,
                                                double smoothing) {
  const std::int32_t* label = checked_labels(labels, grad_logits.size(1));
  visit_real(grad_logits.dtype(), "softmax_cross_entropy_backward", [&]<class T>(T) {
    T* gz = grad_logits.data<T>();
    const T *g = grad_losses.data<T>(), *p = probabilities.data<T>();
    const std::int64_t step = grad_losses.strides()[0];
    for_each_row(threads_, grad_logits, [=](std::int64_t row, std::int64_t k) {
      for (std::int64_t j = 0; j < k; ++j) {
        const double hit = j == label[row / k] ? 1 - smoothing : 0;
        const double target = hit + smoothing / static_cast<double>(k);
        gz[row + j] = static_cast<T>((static_cast<double>(p[row + j]) - target) *
                                     static_cast<double>(g[row / k * step]));
      }
    });
  });
}

}  // namespace ronde::inline v0
