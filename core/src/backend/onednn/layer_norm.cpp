// Layer normalisation: rows by themselves, so all that threads share is the gradient of gamma and beta.
#include <algorithm>

#include "backend/onednn/backend.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/row_sums.h"

namespace ronde::inline v0 {

namespace {

// A weight, or the value that changes nothing in its place.
class WeightOr {
 public:
  WeightOr(Backend& backend, const Tensor& weight, std::int64_t k, float otherwise)
      : constant_(backend, weight.defined() ? 0 : k),
        values_(weight.defined() ? weight.data<float>() : constant_.data()) {
    if (!weight.defined()) std::fill_n(constant_.data(), k, otherwise);
  }
  const float* data() const { return values_; }

 private:
  Scratch<float> constant_;
  const float* values_;
};

void write_sums(const Tensor& to, const double* sums) {
  if (to.defined()) std::transform(sums, sums + to.count(), to.data<float>(), [](double s) { return s; });
}

}  // namespace

void OneDnnBackend::layer_norm(const Tensor& out, const Tensor& mean, const Tensor& variance, const Tensor& x,
                               const Tensor& gamma, const Tensor& beta, double epsilon) {
  if (!dense_values(out, x) || !takes_norm({mean, variance, gamma, beta}) || x.count() == 0)
    return Backend::layer_norm(out, mean, variance, x, gamma, beta, epsilon);
  const std::int64_t rows = x.size(0), k = x.size(1);
  const WeightOr scale(*this, gamma, k, 1), shift(*this, beta, k, 0);
  const RowNorm norm{scale.data(), shift.data(), static_cast<float>(epsilon)};
  threads().parallel_for(rows, grain_of_rows(k), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = rows_at_a_time(end - begin, k, 1, out, x);
    const WrittenRows to(*this, kernels_, out, rows, most);
    const ReadRows from(*this, kernels_, x, rows, most);
    in_pieces(begin, end, most, [&](std::int64_t first, std::int64_t some) {
      kernels_.layer_norm(to.room(first), mean.data<float>() + first, variance.data<float>() + first,
                          from(first, some), norm, some, k);
      to.keep(first, some);
    });
  });
}

void OneDnnBackend::layer_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                        const Tensor& grad_beta, const Tensor& grad_out, const Tensor& x,
                                        const Tensor& mean, const Tensor& variance, const Tensor& gamma,
                                        double epsilon) {
  if (!dense_values(grad_x, grad_out, x) || !takes_norm({mean, variance, gamma, {}}) ||
      !dense_or_missing(grad_gamma) || !dense_or_missing(grad_beta) || x.count() == 0)
    return Backend::layer_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma,
                                        epsilon);
  const std::int64_t rows = x.size(0), k = x.size(1);
  const WeightOr scale(*this, gamma, k, 1);
  const RowNorm norm{scale.data(), nullptr, static_cast<float>(epsilon)};
  const Scratch<double> totals(*this, 2 * k);
  sum_over_rows(*this, totals.data(), rows, 2 * k, [&](double* sums, std::int64_t row, std::int64_t count) {
    const Scratch<float> some_rows(*this, 2 * k);  // gradients of gamma and beta
    const std::int64_t most =
        std::min(kSummedInFloat, rows_at_a_time(count, k, kSummedInFloat, grad_x, grad_out, x));
    const WrittenRows to(*this, kernels_, grad_x, rows, most);
    const ReadRows g(*this, kernels_, grad_out, rows, most), from(*this, kernels_, x, rows, most);
    in_pieces(row, row + count, most, [&](std::int64_t first, std::int64_t some) {
      float* gradients = some_rows.data();
      std::fill_n(gradients, 2 * k, 0.0f);
      kernels_.layer_norm_backward({to.room(first), gradients, gradients + k}, g(first, some),
                                   from(first, some), mean.data<float>() + first,
                                   variance.data<float>() + first, norm, some, k);
      to.keep(first, some);
      for (std::int64_t i = 0; i < 2 * k; ++i) sums[i] += static_cast<double>(gradients[i]);
    });
  });
  write_sums(grad_gamma, totals.data());
  write_sums(grad_beta, totals.data() + k);
}

}  // namespace ronde::inline v0
