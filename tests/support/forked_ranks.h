/// Ranks as processes of their own, for tests: `run_processes(4, [](int rank) { ... })` forks one for each
/// rank and gives what became of them. A rank fails when an EXPECT or ASSERT does or when it throws. Fork
/// before the test starts a thread.
///
/// Ranks that hang are ended after two minutes, by an alarm each.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace ronde::test {

constexpr int kRankFailed = 1;

template <class F>
[[noreturn]] void be_rank(int rank, F& f) {
  alarm(120);
  int status = 0;
  try {
    f(rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    status = kRankFailed;
  }
  if (::testing::Test::HasFailure()) status = kRankFailed;
  std::fflush(nullptr);
  _exit(status);
}

/// Exit statuses; 128 + n: ended by signal n.
template <class F>
std::vector<int> run_processes(int size, F f) {
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int r = 0; r < size; ++r) {
    const pid_t child = fork();
    if (child == 0) be_rank(r, f);
    children.push_back(child);
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return statuses;
}

template <class F>
void expect_processes(int size, F f) {
  EXPECT_EQ(run_processes(size, f), std::vector<int>(static_cast<std::size_t>(size), 0));
}

}  // namespace ronde::test
