/// Gradients of which a node gave one range only: see InputGrads::set_range.
#pragma once

#include <ronde/core/node.h>

namespace ronde::inline v0 {

/// Writes `whole`: `grad` in the range, zeros around it.
void write_range(const Tensor& whole, const InputGrads::Range& range, const Tensor& grad);
/// whole += grad, in the range. The rest is neither read nor written.
void add_to_range(const Tensor& whole, const InputGrads::Range& range, const Tensor& grad);

}  // namespace ronde::inline v0
