/// Ranks as threads, for tests: `run_ranks(4, [](Communicator& world) { ... })` calls the function once per
/// rank, each on a thread of its own, and rethrows the first failure when all have ended.
///
/// A rank that throws leaves the group, so the others do not wait for it: their collectives throw too. Should
/// the ranks hang nevertheless, a watchdog ends the process after a minute.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ronde/distributed/thread_communicator.h>

namespace ronde::test {

/// Aborts the process unless it is destroyed in time.
class Watchdog {
 public:
  explicit Watchdog(int seconds) : thread_([this, seconds] { watch(seconds); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      over_.notify_all();
    }
    thread_.join();
  }

 private:
  void watch(int seconds) {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(seconds);
    if (over_.wait_until(lock, deadline, [this] { return is_over_; })) return;
    std::fprintf(stderr, "watchdog: the ranks hang since %d seconds\n", seconds);
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

/// Errors of the ranks; null where there was none.
template <class F>
std::vector<std::exception_ptr> run_ranks_collecting(int size, F&& f, int watchdog_seconds = 60) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_communicators(size);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  const Watchdog watchdog(watchdog_seconds);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        f(*ranks[r]);
      } catch (...) {
        errors[r] = std::current_exception();
      }
      ranks[r].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// Rethrows the error of the lowest rank that failed by itself, not because another had left.
template <class F>
void run_ranks(int size, F&& f, int watchdog_seconds = 60) {
  std::exception_ptr consequence;
  for (const std::exception_ptr& error : run_ranks_collecting(size, f, watchdog_seconds)) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const CollectiveError&) {
      if (!consequence) consequence = error;
    }
  }
  if (consequence) std::rethrow_exception(consequence);
}

}  // namespace ronde::test
