/// Masks of sequences (Variable::mask).
#pragma once

#include <cstddef>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// f32 of x's shape: 0 where x is `value`, else 1.
Tensor mask_without(const Tensor& x, double value);

/// The steps that the mask of x (n, steps, ...) leaves out, if it has one.
class MaskedSteps {
 public:
  /// An error that names the layer for a mask of another shape than (n, steps).
  MaskedSteps(const Module& layer, const Variable& x);
  bool are_there() const { return !counts_.empty(); }
  /// Steps come in the other order.
  void reverse();
  /// y (n, k) of samples for which the step counts, `before` of the others.
  Variable left_out(std::size_t step, const Variable& y, const Variable& before) const;
  /// The same with zeros.
  Variable zeroed(std::size_t step, const Variable& y) const;

 private:
  std::vector<Tensor> counts_, rest_;  // of each step: (n, 1), 1 where it counts; where it does not
};

/// The mask of x (n, steps, ...) as (n, steps, 1) in x's dtype; undefined if it has none.
Tensor mask_column(const Module& layer, const Variable& x);

}  // namespace ronde::inline v0
