/// Included by one file per instruction set, which defines RONDE_FMA_BYTES (of a vector), RONDE_FMA_CHAINS
/// and RONDE_FMA_LOOP (the function's name).
#pragma once

#include "machine_speed/fma_loop.h"

namespace ronde::inline v0 {

std::int64_t RONDE_FMA_LOOP(std::int64_t rounds, float* sink) {
  typedef float Vector __attribute__((vector_size(RONDE_FMA_BYTES)));
  constexpr int kChains = RONDE_FMA_CHAINS;
  Vector total[kChains];
  for (int i = 0; i < kChains; ++i) total[i] = Vector{} + 0.1f * static_cast<float>(i);
  // Not constants, so that nothing is computed while compiling.
  const Vector factor = Vector{} + sink[0], term = Vector{} + sink[1];
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i) total[i] = total[i] * factor + term;
  }
  for (int i = 0; i < kChains; ++i) sink[2] += total[i][0];
  return rounds * kChains * 2 * (RONDE_FMA_BYTES / 4);
}

}  // namespace ronde::inline v0
