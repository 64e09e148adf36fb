#include <ronde/core/signals.h>

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <ronde/core/thread_pool.h>

namespace ronde {
namespace {

std::thread::id handled_by;

void remember_thread(int) {
  handled_by = std::this_thread::get_id();
}

bool is_blocked(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(Signals, HandlersRunOnTheOtherThreads) {
  struct sigaction action = {}, before = {};
  action.sa_handler = remember_thread;
  ASSERT_EQ(sigaction(SIGUSR2, &action, &before), 0);
  for (int i = 0; i < 20; ++i) {
    handled_by = {};
    std::thread([] {
      block_signals();
      kill(getpid(), SIGUSR2);
    }).join();
    EXPECT_EQ(handled_by, std::this_thread::get_id());
  }
  sigaction(SIGUSR2, &before, nullptr);
}

TEST(Signals, ThoseOfAnErrorAreNotBlocked) {
  std::thread([] {
    block_signals();
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) EXPECT_TRUE(is_blocked(signal)) << signal;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF})
      EXPECT_FALSE(is_blocked(signal)) << signal;
  }).join();
}

TEST(Signals, AreNotForTheThreadsThatCompute) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> others = 0;
  const auto look = [&](std::int64_t, std::int64_t) {
    if (std::this_thread::get_id() == caller)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // for the others to take a share
    else
      others += is_blocked(SIGTERM) ? 1 : 1000;
  };
  ThreadPool pool(3);
  for (int i = 0; i < 10'000 && others == 0; ++i) pool.parallel_for(6, 1, look);
  EXPECT_TRUE(others > 0 && others < 1000) << others;
}

}  // namespace
}  // namespace ronde
