/// Floats to bfloat16 by the processor's own instruction. `Tiles` is included before this.
#pragma once

#include "backend/onednn/kernels/bfloat16_loops.h"
#include "backend/onednn/kernels/tile_results.h"

namespace ronde::inline v0 {
namespace {

inline bool has_denormal(Vector v) {
#ifdef __AVX512DQ__
  constexpr int kDenormal = 0x20;
  return _mm512_fpclass_ps_mask(v, kDenormal) != 0;
#else
  const WordVector magnitude = reinterpret_cast<WordVector>(v) << 1;  // without the sign
  bool found = false;
  for (int i = 0; i < kLanes; ++i) found = found || (magnitude[i] != 0 && magnitude[i] < 1u << 24);
  return found;
#endif
}

// As to_bfloat16, bit for bit: the instruction takes denormal numbers for 0, so those go the other way.
void to_bfloat16_at_once(std::uint16_t* y, const float* x, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vector first = load(x + i), second = load(x + i + kLanes);
    if (has_denormal(first) || has_denormal(second)) [[unlikely]]
      to_bfloat16(y + i, x + i, 2 * kLanes);
    else
      store_rounded(y + i, first, second);
  }
  to_bfloat16(y + i, x + i, n - i);
}

}  // namespace
}  // namespace ronde::inline v0
