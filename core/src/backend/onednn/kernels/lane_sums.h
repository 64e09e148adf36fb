/// The lanes of vectors, added up.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

// Lanes that differ in the bit `by`, added up; of two vectors, those of b where that bit is set, else those
// of a.
template <int by, int... lane>
inline Vector plus_neighbours(Vector a, Vector b, LaneList<lane...>) {
  return __builtin_shufflevector(a, b, (lane & by ? lane + kLanes : lane)...) +
         __builtin_shufflevector(a, b, (lane & by ? (lane ^ by) + kLanes : lane ^ by)...);
}
// Of n vectors, a power of two and at most kLanes: lane i becomes the sum of the lanes of v[i].
template <int n, int by = 1>
inline Vector sums_of_lanes(Vector* v) {
  if constexpr (by == kLanes) {
    return v[0];
  } else {
    constexpr int kLeft = n > 2 * by ? n / (2 * by) : 1;
#pragma GCC unroll 8
    for (int i = 0; i < kLeft; ++i)
      v[i] = plus_neighbours<by>(v[by < n ? 2 * i : i], v[by < n ? 2 * i + 1 : i], LanesTo<kLanes>::List());
    return sums_of_lanes<n, 2 * by>(v);
  }
}
// Of one vector, in double: four sums, as each waits for the addition before.
inline double precise_sum_of_lanes(Vector v) {
  double sums[4] = {};
  for (int lane = 0; lane < kLanes; ++lane) sums[lane % 4] += static_cast<double>(v[lane]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace
}  // namespace ronde::inline v0
