// Compiled with -mavx -mf16c; used where the processor has them.
#include <immintrin.h>

#include "exchange/half_float.h"

namespace ronde::inline v0 {
namespace {

void to_half(const float* x, std::uint16_t* half, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(half + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < count; ++i)  // clang's _cvtss_sh is a macro of C99
    half[i] = static_cast<std::uint16_t>(
        _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(x[i]), _MM_FROUND_TO_NEAREST_INT)));
}

void from_half(const std::uint16_t* half, float* x, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(x + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(half + i))));
  for (; i < count; ++i) x[i] = _cvtsh_ss(half[i]);
}

}  // namespace

HalfKernels native_half_kernels() {
  // All that have AVX2 have F16C too, for which clang 14 has no name here.
  if (!__builtin_cpu_supports("avx2")) return {nullptr, nullptr};
  return {to_half, from_half};
}

}  // namespace ronde::inline v0
