/// Multiply-adds in registers only: the most that a core can do.
#pragma once

#include <cstdint>

namespace ronde::inline v0 {

/// Runs `rounds` rounds; reads sink[0] and sink[1], adds to sink[2]. Returns the floating-point operations.
using FmaLoop = std::int64_t(std::int64_t rounds, float* sink);
FmaLoop fma_loop_portable, fma_loop_neon, fma_loop_avx2, fma_loop_avx512;

/// The loop for the best instruction set of this machine.
FmaLoop* best_fma_loop();

}  // namespace ronde::inline v0
