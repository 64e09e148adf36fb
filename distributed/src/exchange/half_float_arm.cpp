// All 64-bit ARM processors convert 16-bit floats.
#include <arm_neon.h>

#include <bit>

#include "exchange/half_float.h"

namespace ronde::inline v0 {
namespace {

void to_half(const float* x, std::uint16_t* half, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) vst1_u16(half + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
  for (; i < count; ++i) half[i] = std::bit_cast<std::uint16_t>(static_cast<__fp16>(x[i]));
}

void from_half(const std::uint16_t* half, float* x, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) vst1q_f32(x + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(half + i))));
  for (; i < count; ++i) x[i] = std::bit_cast<__fp16>(half[i]);
}

}  // namespace

HalfKernels native_half_kernels() {
  return {to_half, from_half};
}

}  // namespace ronde::inline v0
