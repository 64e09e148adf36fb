#include "autograd/gradient_range.h"

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

void write_range(const Tensor& whole, const InputGrads::Range& range, const Tensor& grad) {
  const auto& [axis, begin, end] = range;
  if (begin > 0) whole.slice(axis, 0, begin).fill(0.0);
  whole.slice(axis, begin, end).copy_from(grad);
  if (end < whole.size(axis)) whole.slice(axis, end, whole.size(axis)).fill(0.0);
}

void add_to_range(const Tensor& whole, const InputGrads::Range& range, const Tensor& grad) {
  whole.backend().accumulate(whole.slice(range.axis, range.begin, range.end), grad, 1.0);
}

}  // namespace ronde::inline v0
