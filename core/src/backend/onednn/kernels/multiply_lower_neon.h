/// multiply_lower with NEON, which has no product of 64 bits.
#pragma once

#include <arm_neon.h>

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

inline WideVector multiply_lower(WideVector a, std::uint32_t b) {
  return reinterpret_cast<WideVector>(vmull_n_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a)), b));
}

}  // namespace
}  // namespace ronde::inline v0
