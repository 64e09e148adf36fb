/// The largest of many values.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

inline Vector larger(Vector a, Vector b) {
  return select((a > b) | (a != a), a, b);
}
template <int by, int... lane>
inline Vector larger_of_neighbours(Vector v, LaneList<lane...>) {
  return larger(__builtin_shufflevector(v, v, (lane ^ by)...), v);
}
template <int by = kLanes / 2>
inline float largest_of_lanes(Vector v) {
  v = larger_of_neighbours<by>(v, LanesTo<kLanes>::List());
  if constexpr (by > 1)
    return largest_of_lanes<by / 2>(v);
  else
    return v[0];
}

float largest(const float* x, std::int64_t n, float sign) {
  if (n < kLanes) {
    float most = sign * x[0];
    for (std::int64_t i = 1; i < n; ++i) most = sign * x[i] > most || x[i] != x[i] ? sign * x[i] : most;
    return most;
  }
  constexpr int kRunning = 4;  // as a comparison waits for the one before it
  Vector most[kRunning];
  for (Vector& v : most) v = sign * load(x);
  std::int64_t i = 0;
  for (; i + kRunning * kLanes <= n; i += kRunning * kLanes)
    for (int c = 0; c < kRunning; ++c) most[c] = larger(sign * load(x + i + c * kLanes), most[c]);
  if (i > 0) most[0] = larger(larger(most[0], most[1]), larger(most[2], most[3]));
  cover(n - i, [&](std::int64_t k) { most[0] = larger(sign * load(x + i + k), most[0]); });
  return largest_of_lanes(most[0]);
}

}  // namespace
}  // namespace ronde::inline v0
