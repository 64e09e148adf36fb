// Softmax and cross-entropy over the last axis, in float; what is added up for a row is double.
#include <algorithm>
#include <cmath>

#include "backend/cpu/class_labels.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

bool takes_rows(const Tensor& x) {
  return x.rank() > 0 && x.count() > 0;
}

// Rows of the tensors of a call, as floats; those of b are null if it is undefined.
struct ValueRows {
  float* out;
  const float *a, *b;
  std::int64_t first, count;
};

// As many as stay in the first level cache, with what is made of them.
std::int64_t rows_in_cache(std::int64_t k) {
  constexpr std::int64_t kValues = 1024;
  return std::clamp<std::int64_t>(kValues / k, 1, kSoftmaxRows);
}

// Calls f(rows) for some rows at a time, kSoftmaxRows at most, on all threads.
template <class F>
void for_value_rows(Backend& backend, const Kernels& kernels, const Tensor& out, const Tensor& a,
                    const Tensor& b, const F& f) {
  const std::int64_t k = out.shape().back(), rows = out.count() / k;
  backend.threads().parallel_for(rows, grain_of_rows(k), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = std::min(rows_in_cache(k), rows_at_a_time(end - begin, k, 1, out, a, b));
    const WrittenRows to(backend, kernels, out, rows, most);
    const ReadRows from_a(backend, kernels, a, rows, most), from_b(backend, kernels, b, rows, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      f(ValueRows{to.room(first), from_a(first, some), from_b(first, some), first, some});
      to.keep(first, some);
    });
  });
}

}  // namespace

void OneDnnBackend::softmax(const Tensor& out, const Tensor& x) {
  if (!dense_values(out, x) || !takes_rows(x)) return WithBfloat16::softmax(out, x);
  const std::int64_t k = x.shape().back();
  for_value_rows(*this, kernels_, out, x, {}, [&](const ValueRows& rows) {
    ExponentialSum sums[kSoftmaxRows];
    kernels_.softmax(rows.out, sums, rows.a, rows.count, k);
  });
}

void OneDnnBackend::softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  if (!dense_values(grad_x, grad_y, y) || !takes_rows(y))
    return WithBfloat16::softmax_backward(grad_x, grad_y, y);
  const std::int64_t k = y.shape().back();
  for_value_rows(*this, kernels_, grad_x, grad_y, y, [&](const ValueRows& rows) {
    kernels_.softmax_backward(rows.out, rows.a, rows.b, rows.count, k);
  });
}

void OneDnnBackend::log_softmax(const Tensor& out, const Tensor& x) {
  if (!dense_values(out, x) || !takes_rows(x) || out.raw() == x.raw())
    return WithBfloat16::log_softmax(out, x);
  const std::int64_t k = x.shape().back();
  for_value_rows(*this, kernels_, out, x, {}, [&](const ValueRows& rows) {
    ExponentialSum sums[kSoftmaxRows];
    kernels_.softmax(rows.out, sums, rows.a, rows.count, k);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      // The largest value first: where it is nearly all of the sum, what is left is small and keeps its
      // digits.
      float* y = rows.out + r * k;
      kernels_.unary(UnaryOp::affine, y, rows.a + r * k, k, 1.0f, -sums[r].largest);
      kernels_.unary(UnaryOp::affine, y, y, k, 1.0f, static_cast<float>(-std::log(sums[r].total)));
    }
  });
}

void OneDnnBackend::log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  if (!dense_values(grad_x, grad_y, y) || !takes_rows(y) || grad_x.raw() == grad_y.raw())
    return WithBfloat16::log_softmax_backward(grad_x, grad_y, y);
  const std::int64_t k = y.shape().back();
  for_value_rows(*this, kernels_, grad_x, grad_y, y, [&](const ValueRows& rows) {
    double totals[kSoftmaxRows];
    kernels_.sum_rows(totals, rows.a, rows.count, k);
    kernels_.unary(UnaryOp::exp, rows.out, rows.b, rows.count * k, 0.0f, 0.0f);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      float* to = rows.out + r * k;
      kernels_.unary(UnaryOp::affine, to, to, k, static_cast<float>(-totals[r]), 0.0f);
    }
    kernels_.accumulate(rows.out, rows.a, 1.0f, rows.count * k);
  });
}

void OneDnnBackend::softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities,
                                          const Tensor& logits, const Tensor& labels, double smoothing) {
  if (!dense_floats(losses, probabilities) || !dense_values(logits) || !takes_rows(logits))
    return WithBfloat16::softmax_cross_entropy(losses, probabilities, logits, labels, smoothing);
  const std::int64_t k = logits.size(1);
  const std::int32_t* labels_of_rows = checked_labels(labels, k);
  // As the oracle has it: the loss is log-sum-exp minus the logits weighted by the targets.
  for_value_rows(*this, kernels_, probabilities, logits, {}, [&](const ValueRows& rows) {
    const std::int32_t* label = labels_of_rows + rows.first;
    float* loss = losses.data<float>() + rows.first;
    ExponentialSum sums[kSoftmaxRows];
    double totals[kSoftmaxRows];
    kernels_.softmax(rows.out, sums, rows.a, rows.count, k);
    if (smoothing != 0) kernels_.sum_rows(totals, rows.a, rows.count, k);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      double weighted = (1 - smoothing) * static_cast<double>(rows.a[r * k + label[r]]);
      if (smoothing != 0) weighted += smoothing / static_cast<double>(k) * totals[r];
      loss[r] = static_cast<float>(static_cast<double>(sums[r].largest) + std::log(sums[r].total) - weighted);
    }
  });
}

void OneDnnBackend::softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                                   const Tensor& probabilities, const Tensor& labels,
                                                   double smoothing) {
  if (!dense_values(grad_logits, probabilities) || grad_losses.dtype() != DType::f32 ||
      !takes_rows(grad_logits))
    return WithBfloat16::softmax_cross_entropy_backward(grad_logits, grad_losses, probabilities, labels,
                                                        smoothing);
  const std::int64_t k = grad_logits.size(1), step = grad_losses.strides()[0];
  const std::int32_t* label = checked_labels(labels, k);
  const float* grads = grad_losses.data<float>();
  const double other = smoothing / static_cast<double>(k);  // the target of all classes but the label's
  for_value_rows(*this, kernels_, grad_logits, probabilities, {}, [&](const ValueRows& rows) {
    const std::int64_t together = step == 0 ? rows.count : 1;  // which have one gradient
    in_pieces(0, rows.count, together, [&](std::int64_t r, std::int64_t some) {
      const float g = grads[(rows.first + r) * step];
      kernels_.unary(UnaryOp::affine, rows.out + r * k, rows.a + r * k, some * k, g,
                     static_cast<float>(-other * static_cast<double>(g)));
      for (; some-- > 0; ++r) {
        const std::int64_t place = r * k + label[rows.first + r];
        const double missing = static_cast<double>(rows.a[place]) - (1 - smoothing + other);
        rows.out[place] = static_cast<float>(missing * static_cast<double>(g));
      }
    });
  });
}

}  // namespace ronde::inline v0
