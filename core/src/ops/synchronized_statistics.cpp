#include "ops/synchronized_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

using Values = std::vector<double>;

// In place, on all ranks the same.
void sum(Values& values, const SumOverRanks& sum_over_ranks) {
  const Tensor host = Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values);
  sum_over_ranks(host);
  values = host.to_vector<double>();
}

Tensor like(const Tensor& tensor, const Values& values) {
  return Tensor::from<double>(tensor.shape(), values).to(tensor.dtype()).to(tensor.backend());
}

}  // namespace

// One sum over the ranks instead of two, so the variance is a difference of means; in f64, which has the
// digits for it: the relative error is 1e-16 * (mean^2 / variance).
void merge_statistics(BatchStatistics& statistics, const SumOverRanks& sum_over_ranks) {
  const Values mean = statistics.mean.to_vector<double>(), variance = statistics.variance.to_vector<double>();
  const std::size_t channels = mean.size();
  const auto rows = static_cast<double>(statistics.count);
  Values sums{rows};
  for (const double m : mean) sums.push_back(rows * m);
  for (std::size_t c = 0; c < channels; ++c) sums.push_back(rows * (variance[c] + mean[c] * mean[c]));
  sum(sums, sum_over_ranks);

  statistics.count = std::llround(sums[0]);
  if (statistics.count == 0) return;
  Values means, variances;
  for (std::size_t c = 0; c < channels; ++c) {
    const double m = sums[1 + c] / sums[0];
    means.push_back(m);
    variances.push_back(std::max(0.0, sums[1 + channels + c] / sums[0] - m * m));
  }
  statistics.mean = like(statistics.mean, means);
  statistics.variance = like(statistics.variance, variances);
}

// With means over all rows instead of this rank's, grad_x = gamma / deviation * (grad - mean(grad) -
// x^ * mean(grad * x^)). So what is missing is gamma / deviation * (difference + x^ * difference), a
// normalisation of x itself with another gamma and beta.
void add_gradient_of_other_ranks(const Tensor& grad_x, const GradientSums& sums, const Tensor& x,
                                 const BatchStatistics& statistics, const Tensor& gamma,
                                 BatchNormParams params, const SumOverRanks& sum_over_ranks) {
  const Values own_grad = sums.of_grad.to_vector<double>(),
               own_grad_x = sums.of_grad_times_x.to_vector<double>();
  const std::size_t channels = own_grad.size();
  Values all = own_grad;
  all.insert(all.end(), own_grad_x.begin(), own_grad_x.end());
  sum(all, sum_over_ranks);
  if (x.count() == 0) return;

  const Values variance = statistics.variance.to_vector<double>();
  const Values scale = gamma.defined() ? gamma.to_vector<double>() : Values(channels, 1.0);
  const auto own = static_cast<double>(x.count()) / static_cast<double>(channels);
  const auto total = static_cast<double>(statistics.count);
  Values slope, shift;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + params.epsilon);
    shift.push_back(factor * (own_grad[c] / own - all[c] / total));
    slope.push_back(factor * (own_grad_x[c] / own - all[channels + c] / total));
  }
  const Tensor missing = Tensor::empty_like(x);
  x.backend().batch_norm(missing, x, statistics.mean, statistics.variance, like(statistics.mean, slope),
                         like(statistics.mean, shift), params);
  x.backend().accumulate(grad_x, missing, 1.0);
}

}  // namespace ronde::inline v0
