/// Masks of sequences (Variable::mask).
#pragma once

#include <cstddef>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// f32 of x's shape: 0 where x is `value`, else 1.
Tensor mask_without(const Tensor& x, double value);

/// The mask of x (n, steps, ...) in x's dtype, undefined if it has none: as (n, steps, 1), and, dense, as
/// (steps, n). An error that names the layer for a mask of another shape than (n, steps).
Tensor mask_column(const Module& layer, const Variable& x);
Tensor mask_by_step(const Module& layer, const Variable& x);
/// y (..., k) with zeros where the mask (...) is 0; y if that is undefined.
Variable zeroed(const Variable& y, const Tensor& mask);

/// What a mask (steps, n), perhaps undefined, says of each step.
class MaskedSteps {
 public:
  /// Backwards, the last one comes first.
  MaskedSteps(const Tensor& mask, bool backwards);
  /// (n)
  Tensor counts(std::size_t step) const { return counts_.empty() ? Tensor() : counts_[step]; }
  /// y (n, k) of samples for which the step counts, `before` of the others.
  Variable left_out(std::size_t step, const Variable& y, const Variable& before) const;

 private:
  std::vector<Tensor> counts_, rest_;  // 1 where the step counts; where it does not
};

}  // namespace ronde::inline v0
