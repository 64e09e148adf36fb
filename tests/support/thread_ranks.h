/// Ranks as threads, for tests: `run_ranks(4, [](Communicator& world) { ... })` calls the function once per
/// rank, each on a thread of its own, and rethrows the first failure when all have ended.
///
/// A rank that throws leaves the group, so the others do not wait for it: their collectives throw too. Should
/// the ranks hang nevertheless, a watchdog ends the process after a minute.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <ronde/distributed/thread_communicator.h>

namespace ronde::test {

/// Aborts the process unless it is destroyed in time.
class Watchdog {
 public:
  explicit Watchdog(int seconds);
  ~Watchdog();

 private:
  void watch(int seconds);

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

using RankBody = std::function<void(Communicator&)>;

/// Errors of the ranks; null where there was none.
std::vector<std::exception_ptr> run_ranks_collecting(int size, const RankBody& body,
                                                     int watchdog_seconds = 60);

/// Rethrows the error of the lowest rank that failed by itself, not because another had left.
void run_ranks(int size, const RankBody& body, int watchdog_seconds = 60);

}  // namespace ronde::test
