/// The machine's f32 multiply-add peak, measured.
#pragma once

#include <cstdint>

#include <ronde/core/thread_pool.h>

namespace bench {

/// Runs `rounds` rounds; reads sink[0] and sink[1], adds to sink[2]. Returns the floating-point operations.
using FmaLoop = std::int64_t(std::int64_t rounds, float* sink);
FmaLoop fma_loop_portable, fma_loop_avx2, fma_loop_avx512;

/// The loop for the best instruction set of this machine.
FmaLoop* best_fma_loop();

/// Best of several short runs on all threads of the pool at once, in GF/s.
double measure_fma_peak(ronde::ThreadPool& pool);

}  // namespace bench
