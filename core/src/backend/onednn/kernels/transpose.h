/// Squares of kLanes x kLanes elements, transposed in registers.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// Swaps every second group of `width` lanes of a with the group of b to its left.
template <int width, int... lane>
inline void exchange_groups(Vector& a, Vector& b, LaneList<lane...>) {
  const Vector upper = a, lower = b;
  a = __builtin_shufflevector(upper, lower, (lane & width ? lane - width + kLanes : lane)...);
  b = __builtin_shufflevector(upper, lower, (lane & width ? lane + kLanes : lane + width)...);
}

// In each 2 width x 2 width square of kLanes rows: swaps the upper right with the lower left quarter; then
// the same for larger squares. From width 1 on that exchanges the elements (r, c) and (c, r).
template <int width>
inline void exchange_quarters(Vector (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r)
    if (!(r & width)) exchange_groups<width>(rows[r], rows[r + width], typename LanesTo<kLanes>::List{});
  if constexpr (2 * width < kLanes) exchange_quarters<2 * width>(rows);
}

/// Exchanges the elements (r, c) and (c, r) of 32 bits each.
inline void transpose(Vector (&rows)[kLanes]) {
  exchange_quarters<1>(rows);
}

}  // namespace
}  // namespace ronde::inline v0
