/// What losses are computed in, and layers that sum over many values.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

/// x, but bf16 as f32, as Keras does. An undefined one stays undefined.
inline Variable precise(const Variable& x) {
  return x.defined() && x.dtype() == DType::bf16 ? cast(x, DType::f32) : x;
}

}  // namespace ronde::inline v0
