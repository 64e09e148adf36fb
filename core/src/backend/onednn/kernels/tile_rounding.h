/// Floats to bfloat16 by the processor's own instruction. `Tiles` is included before this.
#pragma once

#include "backend/onednn/kernels/bfloat16_loops.h"
#include "backend/onednn/kernels/tile_results.h"

namespace ronde::inline v0 {
namespace {

// As to_bfloat16, bit for bit, but for denormal numbers, which the instruction takes for 0.
void to_bfloat16_at_once(std::uint16_t* y, const float* x, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) store_rounded(y + i, load(x + i), load(x + i + kLanes));
  to_bfloat16(y + i, x + i, n - i);
}

}  // namespace
}  // namespace ronde::inline v0
