/// How long a library's candidates take.
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/cuda_resources.h"
#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

constexpr int kTrials = 3, kRuns = 5;  // of each candidate; the fastest trial counts
constexpr float kLongRun = 2, kLaunch = 0.05f;  // milliseconds: of one run, of bringing it to the device
constexpr float kNever = std::numeric_limits<float>::infinity();

/// Milliseconds that the stream takes for what `enqueue` gives it.
template <class Enqueue>
float milliseconds_for(const Enqueue& enqueue, cudaStream_t stream) {
  const CudaEvent begin, end;
  check_cuda(cudaEventRecord(begin.get(), stream), "timing");
  enqueue();
  check_cuda(cudaEventRecord(end.get(), stream), "timing");
  check_cuda(cudaEventSynchronize(end.get()), "timing");
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "timing");
  return milliseconds;
}

/// Milliseconds of kRuns runs behind one another, of the fastest of a few trials. They are a graph, as in a
/// training: else it would be the host's time where the device needs less. One run tells enough where it is
/// long, or far from `limit`, the time to beat. kNever: it does not run; another one may.
template <class Run>
float milliseconds_of(const Run& run_once, cudaStream_t stream, float limit = kNever) try {
  run_once();  // with all that a first one loads
  const float once = milliseconds_for(run_once, stream);
  if (once > kLongRun || kRuns * (once - kLaunch) > 2 * limit) return kRuns * once;
  const CudaGraph runs(stream, [&] {
    for (int run = 0; run < kRuns; ++run) run_once();
  });
  const auto replay = [&] { check_cuda(cudaGraphLaunch(runs.get(), stream), "timing"); };
  replay();
  float best = kNever;
  for (int trial = 0; trial < kTrials; ++trial) best = std::min(best, milliseconds_for(replay, stream));
  return best;
} catch (const GpuError&) {
  cudaGetLastError();  // it is taken note of
  return kNever;
}

}  // namespace ronde::inline v0::cuda
