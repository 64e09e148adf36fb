#include "fma_peak.h"

#include <algorithm>
#include <atomic>

#include "stopwatch.h"

namespace bench {

double measure_fma_peak(ronde::ThreadPool& pool) {
  constexpr std::int64_t kRounds = 500000;
  FmaLoop* loop = best_fma_loop();
  double best = 0;
  for (int run = 0; run < 12; ++run) {
    std::atomic<std::int64_t> operations = 0;
    const Stopwatch watch;
    pool.parallel_for(pool.size(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float sink[3] = {0.999f, 0.001f, 0.0f};
        operations += loop(kRounds, sink);
      }
    });
    best = std::max(best, static_cast<double>(operations.load()) / watch.seconds() * 1e-9);
  }
  return best;
}

}  // namespace bench
