/// multiply_lower: the products of the lower halves of a's 64-bit lanes and b,
/// by the instruction that the compiler does not find by itself.
#pragma once

#include <immintrin.h>

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

inline WideVector multiply_lower(WideVector a, std::uint32_t b) {
  const WideVector wide = WideVector{} + b;
  return reinterpret_cast<WideVector>(
      _mm512_maskz_mul_epu32(-1, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(wide)));
}

}  // namespace
}  // namespace ronde::inline v0
