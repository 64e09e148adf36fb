/// A grid of CUDA's threads on the CPU. Blocks run one after the other; the threads of a block run as fibers
/// of one thread of the host, in an order drawn at random, each until it waits for others: so threads that
/// should wait and do not see what the others have not written yet.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

#include "cuda/emulated/fiber.h"

namespace ronde::test {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr Dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
  constexpr unsigned count() const { return x * y * z; }
};

constexpr unsigned kWarp = 32;

/// Threads that wait for others which never come.
struct Deadlock : std::logic_error {
  using std::logic_error::logic_error;
};

/// What all threads of a block may ask.
struct BlockAtWork {
  Dim3 grid, threads;
  Dim3 block{0, 0, 0};
  std::uint64_t waited = 0;  ///< threads of the grid that did for the kernels before
};

/// Which thread of the grid runs: what a kernel may ask.
struct ThreadAtWork {
  BlockAtWork* of;
  Dim3 thread;
  unsigned number;  ///< in its block
};
static_assert(sizeof(ThreadAtWork) <= Fiber::kKept);
[[gnu::always_inline]] inline ThreadAtWork& at_work() {
  return *static_cast<ThreadAtWork*>(Fiber::kept());
}

/// Runs `kernel` once for each thread. Throws Deadlock.
void run_grid(Dim3 blocks, Dim3 threads, const std::function<void()>& kernel);

/// The same, of a kernel each thread of which waits once for the kernels before it; else throws logic_error.
void run_waiting_grid(Dim3 blocks, Dim3 threads, const std::function<void()>& kernel);

// For the threads of a grid, while it runs.

/// Returns when all threads of the block wait here.
void wait_for_block();
/// Returns, when all lanes of the warp that `mask` names wait here, what lane `from` of it gave.
std::uint64_t exchange_in_warp(std::uint32_t mask, std::uint64_t value, unsigned from);
/// The same, for what all of them gave: a bit for each that was not 0.
std::uint32_t vote_in_warp(std::uint32_t mask, bool value);
inline unsigned lane() {
  return at_work().number % kWarp;
}

}  // namespace ronde::test
