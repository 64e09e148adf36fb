#include <ronde/core/machine_speed.h>

#include <cmath>

#include <gtest/gtest.h>

#include <ronde/core/build_info.h>

#include "machine_speed/fma_loop.h"

namespace ronde {
namespace {

/// x -> x * factor + term from x = 0.1 * chain, so many times: the sum over the chains.
double expected_sum(int rounds, int chains) {
  const double factor = 0.999, term = 0.001, limit = term / (1.0 - factor);
  double sum = 0.0;
  for (int i = 0; i < chains; ++i) sum += limit + (0.1 * i - limit) * std::pow(factor, rounds);
  return sum;
}

void expect_honest(FmaLoop* loop, int lanes, int chains) {
  float sink[3] = {0.999f, 0.001f, 0.0f};
  EXPECT_EQ(loop(100, sink), 100 * chains * lanes * 2);
  EXPECT_NEAR(sink[2], expected_sum(100, chains), 1e-3);
}

TEST(FmaLoop, DoesTheMultiplyAddsThatItCounts) {
  expect_honest(fma_loop_portable, 4, 12);
  // $RONDE_ISA may ask for less than the best, which this loop always is.
  if (instruction_set() == "avx512" || instruction_set() == "amx") expect_honest(best_fma_loop(), 16, 24);
}

TEST(MachineSpeed, CountsAllThreads) {
  ThreadPool pool(2);
  EXPECT_GT(measure_fma_peak(pool), 0.1);           // GF/s: a thousandth of what any machine has
  EXPECT_GT(measure_memory_bandwidth(pool), 0.01);  // GB/s
}

}  // namespace
}  // namespace ronde
