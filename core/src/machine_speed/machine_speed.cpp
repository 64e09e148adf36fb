#include <ronde/core/machine_speed.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include "machine_speed/fma_loop.h"

namespace ronde::inline v0 {
namespace {

/// Calls `body(i)` once on each thread of the pool, several times; seconds of the fastest time.
template <class F>
double best_seconds(ThreadPool& pool, int runs, F&& body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    const Clock::time_point begin = Clock::now();
    pool.parallel_for(pool.size(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) body(static_cast<std::size_t>(i));
    });
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

}  // namespace

double measure_fma_peak(ThreadPool& pool) {
  constexpr std::int64_t kRounds = 500'000;
  FmaLoop* const loop = best_fma_loop();
  std::atomic<std::int64_t> operations = 0;
  const double seconds = best_seconds(pool, 12, [&](std::size_t) {
    float sink[3] = {0.999f, 0.001f, 0.0f};
    operations = loop(kRounds, sink);
  });
  return static_cast<double>(operations.load() * pool.size()) / seconds * 1e-9;
}

double measure_memory_bandwidth(ThreadPool& pool) {
  constexpr std::size_t kBytes = 32 << 20;
  std::vector<std::vector<char>> from(static_cast<std::size_t>(pool.size())), to(from.size());
  const auto copy = [&](std::size_t i) { std::memcpy(to[i].data(), from[i].data(), kBytes); };
  // Each thread touches its pages first, so that they lie near it.
  best_seconds(pool, 1, [&](std::size_t i) {
    from[i].assign(kBytes, 1);
    to[i].assign(kBytes, 0);
  });
  const double seconds = best_seconds(pool, 8, copy);
  return 2.0 * static_cast<double>(kBytes * from.size()) / seconds * 1e-9;
}

}  // namespace ronde::inline v0
