/// What this machine can do at most, measured: the yardsticks that speeds of kernels and of collectives are
/// held against.
///
///     const double gflops = measure_fma_peak(backend.threads());
///     const double bandwidth = measure_memory_bandwidth(backend.threads());
///
/// Each takes some tenths of a second on all threads of the pool. A busy machine gives less.
#pragma once

#include <ronde/core/export.h>
#include <ronde/core/thread_pool.h>

namespace ronde::inline v0 {

/// Multiply-adds of f32 in registers, for the best instruction set of this machine, in GF/s (one counts as
/// two operations); best of several runs.
RONDE_API double measure_fma_peak(ThreadPool& pool);

/// Copying arrays that no cache holds, in GB/s; bytes read and bytes written both count. Takes 64 MB a
/// thread; best of several runs.
RONDE_API double measure_memory_bandwidth(ThreadPool& pool);

}  // namespace ronde::inline v0
