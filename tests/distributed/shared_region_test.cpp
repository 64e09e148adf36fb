#include "shm/shared_region.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include <dirent.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <ronde/core/error.h>

#include "shm/node_transport.h"

namespace ronde::test {
namespace {

using Kind = SharedRegion::Kind;

// Exit status of `f` in another process. There is no other thread yet.
template <class F>
int status_of_child(F&& f) {
  const pid_t child = fork();
  if (child == 0) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Files of this process' that are left in /dev/shm.
int names_left() {
  int count = 0;
  const std::string start = cat("ronde-", getpid(), '-');
  DIR* folder = opendir("/dev/shm");
  if (!folder) return 0;
  while (const dirent* entry = readdir(folder))
    count += std::strncmp(entry->d_name, start.c_str(), start.size()) == 0;
  closedir(folder);
  return count;
}

class SharedRegionTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    try {
      SharedRegion::create(GetParam(), 4096);
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_P(SharedRegionTest, IsTheSameMemoryInAnotherProcess) {
  const auto region = SharedRegion::create(GetParam(), 10000);
  EXPECT_EQ(region->bytes(), 10000);
  EXPECT_EQ(region->data()[9999], 0);
  region->data()[9999] = 5;
  const int status = status_of_child([&] {
    const auto same = SharedRegion::attach(region->ticket());
    if (same->data() == region->data() || same->data()[9999] != 5) return 1;
    same->data()[0] = 7;
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(region->data()[0], 7);
}

TEST_P(SharedRegionTest, IsItselfInItsOwnProcess) {
  const auto region = SharedRegion::create(GetParam(), 4096);
  EXPECT_EQ(SharedRegion::attach(region->ticket()), region);
}

TEST_P(SharedRegionTest, LeavesNothingBehind) {
  const auto region = SharedRegion::create(GetParam(), 4096);
  EXPECT_EQ(names_left(), GetParam() == Kind::named ? 1 : 0);
  const SharedRegion::Ticket ticket = region->ticket();
  region->close_door();
  EXPECT_EQ(names_left(), 0);
  region->data()[0] = 1;
  const int status = status_of_child([&] {
    try {
      SharedRegion::attach(ticket);
    } catch (const Error&) {
      return 0;
    }
    return 1;
  });
  EXPECT_EQ(status, 0);
}

TEST_P(SharedRegionTest, OtherMemoryIsRefused) {
  const auto region = SharedRegion::create(GetParam(), 4096);
  SharedRegion::Ticket ticket = region->ticket();
  ++ticket.inode;
  const int status = status_of_child([&] {
    try {
      SharedRegion::attach(ticket);
    } catch (const Error&) {
      return 0;
    }
    return 1;
  });
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SharedRegionTest, testing::Values(Kind::anonymous, Kind::named),
                         [](const auto& p) { return p.param == Kind::named ? "named" : "anonymous"; });

TEST(SharedRegion, MoreThanThereIsIsAnError) {
  for (const Kind kind : {Kind::named, Kind::anonymous}) {
    // Without the check, all of the machine's memory is taken first: not more than this process may have.
    const int status = status_of_child([kind] {
      const rlimit small{1 << 20, 1 << 20};
      setrlimit(RLIMIT_FSIZE, &small);
      std::signal(SIGXFSZ, SIG_IGN);
      try {
        SharedRegion::create(kind, std::int64_t{1} << 50);
      } catch (const Error& error) {
        const std::string message = error.what();
        return message.find(kind == Kind::named ? "" : "Cannot allocate memory") == std::string::npos ? 1 : 0;
      }
      return 2;
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(names_left(), 0);
  }
}

// A process that is killed in the middle of an all-reduce.
TEST(NodeTransport, DeathOfARankIsNoticed) {
  const auto region = SharedRegion::create(Kind::anonymous, NodeGroup::bytes_for(2));
  const pid_t child = fork();
  const std::vector<int> processes =
      child == 0 ? std::vector<int>{getppid(), getpid()} : std::vector<int>{getpid(), child};
  NodeTransport transport(std::make_unique<NodeGroup>(SharedRegion::attach(region->ticket()),
                                                      child == 0 ? 1 : 0, processes, nullptr),
                          "node", nullptr);
  std::vector<float> data(100000, 1.0f);
  transport.allreduce(data.data(), 100000, DType::f32, Reduction::sum);
  if (child == 0) raise(SIGKILL);
  EXPECT_EQ(data[99999], 2.0f);
  try {
    transport.allreduce(data.data(), 100000, DType::f32, Reduction::sum);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), cat("[distributed] rank 1 (process ", child, ") has died"));
  }
  waitpid(child, nullptr, 0);
}

// Rank 0 of two, in a process that stops before it comes to a meeting. Exit status 1: it was told that the
// other rank has gone.
int meet_when_told(const SharedRegion::Ticket& region, const std::vector<int>& processes) {
  NodeGroup group(SharedRegion::attach(region), 0, processes, nullptr);
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 2;
  raise(SIGSTOP);
  try {
    group.arrive();
  } catch (const Error&) {
    return 1;
  }
  return 0;
}

struct StepsTaken {
  bool may_trace = true, has_slept = false;
  int status = 0;  // of rank 0's process
};

// Rank 1 comes to the meeting, and leaves, when rank 0 has gone so many instructions from where it says that
// it is about to sleep.
StepsTaken leave_after(int steps) {
  const auto region = SharedRegion::create(Kind::anonymous, NodeGroup::bytes_for(2));
  const pid_t child = fork();
  if (child == 0) _exit(meet_when_told(region->ticket(), {getpid(), getppid()}));
  auto group = std::make_unique<NodeGroup>(region, 1, std::vector<int>{child, getpid()}, nullptr);
  StepsTaken taken;
  waitpid(child, &taken.status, 0);
  taken.may_trace = WIFSTOPPED(taken.status);
  const auto step = [&] {
    const auto begin = std::chrono::steady_clock::now();
    ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    waitpid(child, &taken.status, 0);
    taken.has_slept |= std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(25);
  };
  // The third line of the region.
  const auto& sleepers = *reinterpret_cast<const std::atomic<std::uint32_t>*>(region->data() + 128);
  while (taken.may_trace && WIFSTOPPED(taken.status) && sleepers == 0) step();
  for (int k = 0; k < steps && WIFSTOPPED(taken.status); ++k) step();
  if (taken.may_trace) group->arrive();
  group.reset();
  if (!taken.may_trace) return taken;
  ptrace(PTRACE_DETACH, child, nullptr, nullptr);
  waitpid(child, &taken.status, 0);
  return taken;
}

// Wherever a rank is on its way to sleep: who comes last and leaves at once was there.
TEST(NodeGroup, WhoLeavesAfterAMeetingWasThere) {
  constexpr int kSteps = 200;  // to beyond its last look, but for builds with sanitizers
  StepsTaken taken;
  for (int steps = 0; steps < kSteps && !taken.has_slept; ++steps) {
    taken = leave_after(steps);
    if (!taken.may_trace) GTEST_SKIP() << "processes may not be traced here";
    ASSERT_EQ(taken.status, 0) << "after " << steps << " instructions";
  }
}

}  // namespace
}  // namespace ronde::test
