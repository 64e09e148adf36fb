/// How long a library's candidates take.
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/cuda_resources.h"

namespace ronde::inline v0::cuda {

constexpr int kTrials = 3, kRuns = 5;  // of each candidate; the fastest trial counts
constexpr float kNever = std::numeric_limits<float>::infinity();

/// Milliseconds of some runs behind one another, of the fastest of a few trials. They are a graph, as in a
/// training: else it would be the host's time where the device needs less. kNever: it does not run; another
/// one may.
template <class Run>
float milliseconds_of(const Run& run_once, cudaStream_t stream) try {
  const CudaEvent begin, end;
  run_once();
  const CudaGraph runs(stream, [&] {
    for (int run = 0; run < kRuns; ++run) run_once();
  });
  check_cuda(cudaGraphLaunch(runs.get(), stream), "timing");
  float best = kNever;
  for (int trial = 0; trial < kTrials; ++trial) {
    check_cuda(cudaEventRecord(begin.get(), stream), "timing");
    check_cuda(cudaGraphLaunch(runs.get(), stream), "timing");
    check_cuda(cudaEventRecord(end.get(), stream), "timing");
    check_cuda(cudaEventSynchronize(end.get()), "timing");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "timing");
    best = std::min(best, milliseconds);
  }
  return best;
} catch (const GpuError&) {
  cudaGetLastError();  // it is taken note of
  return kNever;
}

}  // namespace ronde::inline v0::cuda
