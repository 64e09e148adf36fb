/// Operations that compute in f32 of bf16.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

/// An undefined one stays undefined.
inline Variable in_f32(const Variable& x) {
  return x.defined() ? cast(x, DType::f32) : x;
}

}  // namespace ronde::inline v0
