// Softmax and cross-entropy of rows of many values, in float. Rows of few values are the oracle's, which
// computes them in double.
#include <cmath>

#include "backend/cpu/class_labels.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

bool has_many_values(const Tensor& x) {
  constexpr std::int64_t kFewest = 16;  // a vector of the widest instruction set
  return x.rank() > 0 && x.count() > 0 && x.shape().back() >= kFewest;
}

double log_of(const ExponentialSum& s) {
  return static_cast<double>(s.largest) + std::log(s.total);
}

// Calls f(row of out, row of a, row of b, its number) for all rows, on all threads; b may be undefined.
template <class F>
void for_value_rows(Backend& backend, const Kernels& kernels, const Tensor& out, const Tensor& a,
                    const Tensor& b, const F& f) {
  const std::int64_t k = out.shape().back(), rows = out.count() / k;
  backend.threads().parallel_for(rows, grain_of_rows(k), [&](std::int64_t begin, std::int64_t end) {
    const WrittenRows to(backend, kernels, out, rows, 1);
    const ReadRows from_a(backend, kernels, a, rows, 1), from_b(backend, kernels, b, rows, 1);
    for (std::int64_t i = begin; i < end; ++i) {
      f(to.room(i), from_a(i, 1), from_b(i, 1), i);
      to.keep(i, 1);
    }
  });
}

}  // namespace

void OneDnnBackend::softmax(const Tensor& out, const Tensor& x) {
  if (!dense_values(out, x) || !has_many_values(x)) return WithBfloat16::softmax(out, x);
  const std::int64_t k = x.shape().back();
  for_value_rows(*this, kernels_, out, x, {}, [&](float* y, const float* row, const float*, std::int64_t) {
    kernels_.softmax(y, row, k);
  });
}

void OneDnnBackend::softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  if (!dense_values(grad_x, grad_y, y) || !has_many_values(y))
    return WithBfloat16::softmax_backward(grad_x, grad_y, y);
  const std::int64_t k = y.shape().back();
  for_value_rows(*this, kernels_, grad_x, grad_y, y,
                 [&](float* to, const float* g, const float* p, std::int64_t) {
                   kernels_.softmax_backward(to, g, p, k);
                 });
}

void OneDnnBackend::log_softmax(const Tensor& out, const Tensor& x) {
  if (!dense_values(out, x) || !has_many_values(x) || out.raw() == x.raw())
    return WithBfloat16::log_softmax(out, x);
  const std::int64_t k = x.shape().back();
  for_value_rows(*this, kernels_, out, x, {}, [&](float* y, const float* row, const float*, std::int64_t) {
    // The largest value first: where it is nearly all of the sum, what is left is small and keeps its digits.
    const ExponentialSum s = kernels_.softmax(y, row, k);
    kernels_.unary(UnaryOp::affine, y, row, k, 1.0f, -s.largest);
    kernels_.unary(UnaryOp::affine, y, y, k, 1.0f, static_cast<float>(-std::log(s.total)));
  });
}

void OneDnnBackend::log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  if (!dense_values(grad_x, grad_y, y) || !has_many_values(y) || grad_x.raw() == grad_y.raw())
    return WithBfloat16::log_softmax_backward(grad_x, grad_y, y);
  const std::int64_t k = y.shape().back();
  for_value_rows(*this, kernels_, grad_x, grad_y, y,
                 [&](float* to, const float* g, const float* log_p, std::int64_t) {
                   kernels_.unary(UnaryOp::exp, to, log_p, k, 0.0f, 0.0f);
                   kernels_.unary(UnaryOp::affine, to, to, k, static_cast<float>(-kernels_.sum(g, k)), 0.0f);
                   kernels_.accumulate(to, g, 1.0f, k);
                 });
}

void OneDnnBackend::softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities,
                                          const Tensor& logits, const Tensor& labels, double smoothing) {
  if (!dense_floats(losses, probabilities) || !dense_values(logits) || !has_many_values(logits))
    return WithBfloat16::softmax_cross_entropy(losses, probabilities, logits, labels, smoothing);
  const std::int64_t k = logits.size(1);
  const std::int32_t* label = checked_labels(labels, k);
  float* loss = losses.data<float>();
  // As the oracle has it: the loss is log-sum-exp minus the logits weighted by the targets.
  for_value_rows(*this, kernels_, probabilities, logits, {},
                 [&](float* p, const float* z, const float*, std::int64_t i) {
                   double weighted = (1 - smoothing) * static_cast<double>(z[label[i]]);
                   if (smoothing != 0) weighted += smoothing / static_cast<double>(k) * kernels_.sum(z, k);
                   loss[i] = static_cast<float>(log_of(kernels_.softmax(p, z, k)) - weighted);
                 });
}

void OneDnnBackend::softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                                   const Tensor& probabilities, const Tensor& labels,
                                                   double smoothing) {
  if (!dense_values(grad_logits, probabilities) || grad_losses.dtype() != DType::f32 ||
      !has_many_values(grad_logits))
    return WithBfloat16::softmax_cross_entropy_backward(grad_logits, grad_losses, probabilities, labels,
                                                        smoothing);
  const std::int64_t k = grad_logits.size(1), step = grad_losses.strides()[0];
  const std::int32_t* label = checked_labels(labels, k);
  const float* grads = grad_losses.data<float>();
  const double other = smoothing / static_cast<double>(k);  // the target of all classes but the label's
  for_value_rows(*this, kernels_, grad_logits, probabilities, {},
                 [&](float* to, const float* p, const float*, std::int64_t i) {
                   const auto g = static_cast<double>(grads[i * step]);
                   const double missing = static_cast<double>(p[label[i]]) - (1 - smoothing + other);
                   kernels_.unary(UnaryOp::affine, to, p, k, grads[i * step], static_cast<float>(-other * g));
                   to[label[i]] = static_cast<float>(missing * g);
                 });
}

}  // namespace ronde::inline v0
