/// What Ronde's kernels use of CUDA's header of this name, on the CPU.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16 {
  std::uint16_t bits = 0;

  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

inline float __bfloat162float(__nv_bfloat16 value) {
  return static_cast<float>(value);
}

/// To the nearest, ties to even; a NaN becomes CUDA's own.
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  if (value != value) return {0x7FFF};
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return {static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
}
