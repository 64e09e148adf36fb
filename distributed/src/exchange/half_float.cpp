#include "exchange/half_float.h"

#include <bit>

#include <ronde/core/dtype.h>

namespace ronde::inline v0 {
namespace {

std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)  // a NaN, kept quiet with the upper part of its payload
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65,520 and more
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 puts the bits that stay at the end of a float, rounded as floats are.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace

HalfKernels portable_half_kernels() {
  return {[](const float* x, std::uint16_t* half, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) half[i] = half_of(x[i]);
          },
          [](const std::uint16_t* half, float* x, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) x[i] = float_of_half(half[i]);
          }};
}

HalfKernels half_kernels() {
  const HalfKernels native = native_half_kernels();
  return native.to_half != nullptr ? native : portable_half_kernels();
}

void to_bfloat16(const float* x, std::uint16_t* half, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) half[i] = bfloat16(x[i]).bits;
}

void from_bfloat16(const std::uint16_t* half, float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(half[i]) << 16);
}

}  // namespace ronde::inline v0
