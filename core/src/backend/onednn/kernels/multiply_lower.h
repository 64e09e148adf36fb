/// multiply_lower: the products of the lower halves of a's 64-bit lanes and b, on any machine.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

inline WideVector multiply_lower(WideVector a, std::uint32_t b) {
  const WideVector wide = WideVector{} + b;
  return (a & 0xFFFFFFFFu) * wide;
}

}  // namespace
}  // namespace ronde::inline v0
