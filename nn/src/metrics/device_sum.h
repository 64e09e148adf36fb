/// Sums that stay on the device until somebody asks: scalars of f64, undefined as long as nothing was added.
#pragma once

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

/// What was added so far; waits for the device.
inline double value_of_sum(const Tensor& sum) {
  return sum.defined() ? sum.item() : 0.0;
}

/// Adds `times` `more`, a floating scalar, on its device, to which the sum moves if it is elsewhere.
inline void add_to_sum(Tensor& sum, const Tensor& more, double times = 1.0) {
  if (!sum.defined() || &sum.backend() != &more.backend())
    sum = Tensor::full({}, value_of_sum(sum), {.dtype = DType::f64, .backend = &more.backend()});
  sum.backend().accumulate(sum, more, times);
}

/// Stays where it is: a graph may write to it again.
inline void clear_sum(Tensor& sum) {
  if (sum.defined()) sum.fill(0.0);
}

}  // namespace ronde::inline v0
