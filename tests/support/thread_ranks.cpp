#include "support/thread_ranks.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace ronde::test {

Watchdog::Watchdog(int seconds) : thread_([this, seconds] { watch(seconds); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    over_.notify_all();
  }
  thread_.join();
}

void Watchdog::watch(int seconds) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(seconds);
  if (over_.wait_until(lock, deadline, [this] { return is_over_; })) return;
  std::fprintf(stderr, "watchdog: the ranks hang since %d seconds\n", seconds);
  std::abort();
}

std::vector<std::exception_ptr> run_ranks_collecting(int size, const RankBody& body, int watchdog_seconds) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_communicators(size);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  const Watchdog watchdog(watchdog_seconds);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(*ranks[r]);
      } catch (...) {
        errors[r] = std::current_exception();
      }
      ranks[r].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void run_ranks(int size, const RankBody& body, int watchdog_seconds) {
  std::exception_ptr consequence;
  for (const std::exception_ptr& error : run_ranks_collecting(size, body, watchdog_seconds)) {
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
