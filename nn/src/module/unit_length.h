/// Vectors as long as 1.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

/// The vectors along `axes` of x, divided by their lengths; those shorter than 1e-6 by that, as Keras' bound
/// keeps zeros what they are. Those of bf16 are computed in f32.
Variable unit_length(const Variable& x, const Shape& axes);

}  // namespace ronde::inline v0
