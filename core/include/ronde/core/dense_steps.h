/// DenseSteps: one dense layer for inputs that become known step by step, each from the result before, as in
/// a recurrent layer.
///
///     DenseSteps times_kernel(kernel, {}, steps);
///     for (const Variable& x : inputs) state = tanh(x + times_kernel(state));
///
/// It gives what `dense` gives in each step. But the weight's gradient is one product over all steps, where
/// calls of `dense` add a product of each, and mixed precision rounds the weight once.
#pragma once

#include <cstdint>

#include <ronde/core/variable.h>

namespace ronde::inline v0 {

class RONDE_API DenseSteps {
 public:
  /// weight (in, units), bias (units) or undefined; `steps`: how often it is called at most.
  DenseSteps(const Variable& weight, const Variable& bias, std::int64_t steps);
  /// The next step: x (n, in), of one n in all steps -> (n, units).
  Variable operator()(const Variable& x);

 private:
  void begin(const Tensor& x);

  Variable weight_, bias_;
  std::int64_t steps_, done_ = 0;
  Tensor kernel_;     // the weight as products take it
  Tensor inputs_;     // (steps, n, in), zeros behind those so far; undefined: the weight has no gradient
  Variable results_;  // (steps, n, units), where gradients meet; undefined: neither weight nor bias has one
};

}  // namespace ronde::inline v0
