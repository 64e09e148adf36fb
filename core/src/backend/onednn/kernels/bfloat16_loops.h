/// bfloat16 from and to float: the upper half of its bits, rounded to nearest, ties to even.
#pragma once

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cstdint>

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

typedef std::uint32_t WordVector __attribute__((vector_size(kVectorBytes)));
typedef std::uint16_t HalfVector __attribute__((vector_size(kVectorBytes / 2)));
typedef std::uint16_t UnalignedHalves __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));

/// kLanes bfloat16 as the lower halves of 32 bits each.
inline WordVector load_halves(const std::uint16_t* p) {
#ifdef __AVX512F__  // one instruction, for which GCC 12 takes five
  return reinterpret_cast<WordVector>(
      _mm512_maskz_cvtepu16_epi32(0xffff, *reinterpret_cast<const __m256i_u*>(p)));
#else
  return __builtin_convertvector(HalfVector(*reinterpret_cast<const UnalignedHalves*>(p)), WordVector);
#endif
}
/// kLanes bfloat16 as floats.
inline Vector widened(const std::uint16_t* p) {
  return reinterpret_cast<Vector>(load_halves(p) << 16);
}
/// The lower halves.
inline void store_halves(std::uint16_t* p, WordVector v) {
  *reinterpret_cast<UnalignedHalves*>(p) = __builtin_convertvector(v, HalfVector);
}
/// As 32 bits each; a NaN stays one.
inline WordVector rounded_halves(Vector v) {
  const WordVector u = reinterpret_cast<WordVector>(v);
  const WordVector nearest = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
  const WordVector is_nan = reinterpret_cast<WordVector>(v != v);
  return (quiet & is_nan) | (nearest & ~is_nan);
}

inline std::uint16_t rounded_half(float value) {
  std::uint32_t u;
  __builtin_memcpy(&u, &value, sizeof u);
  if (value != value) return static_cast<std::uint16_t>(u >> 16 | 0x40);
  return static_cast<std::uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

[[maybe_unused]] void to_bfloat16(std::uint16_t* y, const float* x, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_halves(y + i, rounded_halves(load(x + i)));
  for (; i < n; ++i) y[i] = rounded_half(x[i]);
}

/// Widened are a few elements at a time, of several tensors in turn: what comes behind them is asked for.
constexpr std::int64_t kHalvesAhead = 1024;

[[maybe_unused]] void from_bfloat16(float* y, const std::uint16_t* x, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __builtin_prefetch(x + i + kHalvesAhead);
    store(y + i, widened(x + i));
  }
  for (; i < n; ++i) {
    const std::uint32_t u = std::uint32_t{x[i]} << 16;
    __builtin_memcpy(y + i, &u, sizeof u);
  }
}

}  // namespace
}  // namespace ronde::inline v0
