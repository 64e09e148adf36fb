/// What layers compute in that sum over many values.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

/// x, but bf16 as f32.
inline Variable widened(const Variable& x) {
  return x.dtype() == DType::bf16 ? cast(x, DType::f32) : x;
}

}  // namespace ronde::inline v0
