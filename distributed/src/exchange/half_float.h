/// Conversions between float and 16-bit floats, many at a time; to nearest, ties to even, NaN stays NaN.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

/// IEEE binary16. Values beyond 65,504 become infinities, small ones subnormal.
struct HalfKernels {
  void (*to_half)(const float* x, std::uint16_t* half, std::int64_t count);
  void (*from_half)(const std::uint16_t* half, float* x, std::int64_t count);
};

HalfKernels portable_half_kernels();
/// With the processor's own instructions; nullptrs where there are none.
HalfKernels native_half_kernels();
/// The native ones if there are any.
HalfKernels half_kernels();

void to_bfloat16(const float* x, std::uint16_t* half, std::int64_t count);
void from_bfloat16(const std::uint16_t* half, float* x, std::int64_t count);

}  // namespace ronde::inline v0
