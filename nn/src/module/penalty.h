/// The penalty of one weight, and its gradient, in the elementwise operations that every backend has.
#pragma once

#include <ronde/core/tensor.h>
#include <ronde/nn/regularizer.h>

namespace ronde::inline v0 {

/// total += penalty; an f64 scalar and flat weights.
void add_penalty(const Tensor& total, const Tensor& weights, const Regularizer& regularizer);
/// gradients += factor * gradient of the penalty; both flat.
void add_penalty_gradient(const Tensor& gradients, const Tensor& weights, const Regularizer& regularizer,
                          double factor);

}  // namespace ronde::inline v0
