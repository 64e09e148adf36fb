#include "module/penalty.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

void add_penalty(const Tensor& total, const Tensor& weights, const Regularizer& regularizer) {
  Backend& backend = weights.backend();
  if (regularizer.l1_factor() != 0.0) {
    const Tensor magnitudes = Tensor::empty_like(weights);
    backend.unary(UnaryOp::abs, magnitudes, weights, {});
    const Tensor sum = Tensor::empty({1}, weights.options());
    backend.reduce(ReduceOp::sum, sum, magnitudes);
    backend.accumulate(total, sum.view(0, {}), regularizer.l1_factor());
  }
  if (regularizer.l2_factor() != 0.0) {
    const Tensor sum = Tensor::empty_like(total);
    backend.sum_of_squares(sum, weights);
    backend.accumulate(total, sum, regularizer.l2_factor());
  }
}

void add_penalty_gradient(const Tensor& gradients, const Tensor& weights, const Regularizer& regularizer,
                          double factor) {
  Backend& backend = weights.backend();
  if (regularizer.l1_factor() != 0.0) {
    const Tensor signs = Tensor::full(weights.shape(), 1.0, weights.options());
    backend.unary_backward(UnaryOp::abs, signs, signs, weights, {}, {});
    backend.accumulate(gradients, signs, factor * regularizer.l1_factor());
  }
  if (regularizer.l2_factor() != 0.0)
    backend.accumulate(gradients, weights, factor * 2.0 * regularizer.l2_factor());
}

}  // namespace ronde::inline v0
