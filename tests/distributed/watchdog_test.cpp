// Ranks as threads, each with a watchdog of its own over one board; alarms are collected instead of ending
// the process.
#include "watchdog/watchdog.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <ronde/distributed/heartbeat.h>
#include <ronde/distributed/values.h>
#include <ronde/distributed/watchdog.h>
#include <unistd.h>

#include "support/thread_ranks.h"
#include "watchdog/operation_label.h"

namespace ronde::test {
namespace {

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Zeroed memory for the board of some ranks.
class Board {
 public:
  explicit Board(int ranks)
      : ranks_(static_cast<std::size_t>(ranks)),
        memory_(::operator new (bytes(), std::align_val_t{64}),
                [](void* p) { ::operator delete (p, std::align_val_t{64}); }) {
    std::memset(memory_.get(), 0, bytes());
  }
  std::shared_ptr<ProgressBoard> of_rank(int rank) const {
    std::vector<int> all;
    for (std::size_t r = 0; r < ranks_; ++r) all.push_back(static_cast<int>(r));
    return std::make_shared<ProgressBoard>(memory_.get(), all, static_cast<std::size_t>(rank));
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(ProgressBoard::bytes_for(ranks_)); }
  std::size_t ranks_;
  std::shared_ptr<void> memory_;
};

// What the watchdogs of a job say.
struct Heard {
  std::mutex mutex;
  std::vector<HangAlarm> alarms;
  std::atomic<int> count = 0;
  void add(const HangAlarm& alarm) {
    const std::lock_guard lock(mutex);
    alarms.push_back(alarm);
    ++count;
  }
  void wait_for(int number) const {
    while (count < number) sleep_for(0.005);
  }
  // Of the one that speaks.
  std::string message() const {
    std::string text;
    for (const HangAlarm& alarm : alarms)
      if (alarm.speaks) text += alarm.message;
    return text;
  }
};

std::unique_ptr<ronde::Watchdog> watch(Communicator& world, const Board& board, Heard& heard,
                                       const Deadlines& deadlines) {
  auto watchdog = std::make_unique<ronde::Watchdog>(
      WatchdogOptions{.deadlines = deadlines,
                      .on_alarm = [&heard](const HangAlarm& alarm) { heard.add(alarm); },
                      .advice = "; do something",
                      .warn = {},
                      .is_orphan = {}});
  watchdog->watch(world.flight_recorder(), board.of_rank(world.rank()), {});
  return watchdog;
}

// Rank 1 of 3 comes to its last operation only when everybody has heard of it.
Heard& run_with_late_rank(WatchedWork work) {
  static Heard all[2];
  Heard& heard = all[static_cast<std::size_t>(work)];
  const Board board(3);
  run_ranks(3, [&](Communicator& world) {
    const auto watchdog = watch(world, board, heard, Deadlines::all(0.15));
    std::vector<float> values(1000, 1.0f);
    allreduce(world, values).wait();
    world.barrier().wait();
    if (world.rank() == 1) {
      begin_watched_step(world, 7);
      std::optional<WatchedPhase> in;
      if (work != WatchedWork::none) in.emplace(world, work);
      heard.wait_for(3);
    }
    const OperationLabel label("bucket 2: dense/kernel, dense/bias");
    allreduce(world, values, {.name = "gradients"}).wait();
  });
  return heard;
}

TEST(Watchdog, NamesTheLateRankAndTheOperation) {
  const Heard& heard = run_with_late_rank(WatchedWork::none);
  ASSERT_EQ(heard.alarms.size(), 3u);
  const std::string message = heard.message();
  EXPECT_TRUE(message.starts_with(cat("watchdog: rank 1 (process ", getpid(), ") "))) << message;
  EXPECT_NE(message.find(" after #2 in step 7; the others have waited for 0."), std::string::npos) << message;
  EXPECT_NE(message.find(" in allreduce #3 'gradients' of bucket 2: dense/kernel, dense/bias (4.0 kB); do "
                         "something"),
            std::string::npos)
      << message;
  for (const HangAlarm& alarm : heard.alarms) {
    EXPECT_TRUE(alarm.silent.empty());
    EXPECT_EQ(alarm.listeners, 3);
    EXPECT_NE(alarm.flight.find("communicator world"), std::string::npos) << alarm.flight;
    EXPECT_NE(alarm.flight.find("barrier #2"), std::string::npos) << alarm.flight;
  }
}

TEST(Watchdog, SaysWhatTheLateRankIsDoing) {
  const std::string message = run_with_late_rank(WatchedWork::loader).message();
  EXPECT_NE(message.find("waiting for the data loader"), std::string::npos) << message;
  EXPECT_NE(message.find("rank 1 "), std::string::npos) << message;
}

// Who waits for a rank in such work gives it that work's deadline, and the operation's when it comes out.
TEST(Watchdog, WorkHasADeadlineOfItsOwn) {
  const Board board(2);
  Heard heard;
  const Deadlines deadlines{.operation = 0.3, .start = 1.0, .loader = 60.0, .checkpoint = 0.3};
  run_ranks(2, [&](Communicator& world) {
    const auto watchdog = watch(world, board, heard, deadlines);
    if (world.rank() == 1) {
      const WatchedPhase phase(world, WatchedWork::loader);
      sleep_for(0.6);
    }
    world.barrier().wait();
    EXPECT_EQ(heard.count, 0);
    world.barrier().wait();
    if (world.rank() == 1) {
      const WatchedPhase phase(world, WatchedWork::checkpoint);
      heard.wait_for(2);
    }
    world.barrier("last").wait();
  });
  EXPECT_NE(heard.message().find("writing a checkpoint"), std::string::npos) << heard.message();
}

TEST(Deadlines, ComeFromTheEnvironment) {
  const auto seconds = [](const char* all, const char* loader, const char* start) {
    const std::vector<std::pair<const char*, const char*>> values{{"RONDE_HANG_TIMEOUT", all},
                                                                  {"RONDE_HANG_TIMEOUT_LOADER", loader},
                                                                  {"RONDE_HANG_TIMEOUT_START", start}};
    for (const auto& [name, value] : values) setenv(name, value, 1);
    const std::optional<Deadlines> found = deadlines_from_environment();
    for (const auto& [name, value] : values) unsetenv(name);
    return found ? std::vector<double>{found->operation, found->start, found->loader, found->checkpoint}
                 : std::vector<double>();
  };
  const double ever = std::numeric_limits<double>::infinity();
  EXPECT_EQ(seconds("", "", ""), (std::vector<double>{600, 600, 600, 600}));
  EXPECT_EQ(seconds("30", "", ""), (std::vector<double>{30, 60, 30, 30}));
  EXPECT_EQ(seconds("30", "1800", "5"), (std::vector<double>{30, 5, 1800, 30}));
  EXPECT_EQ(seconds("30", "0", "0"), (std::vector<double>{30, ever, ever, 30}));
  EXPECT_EQ(seconds("0", "20", ""), std::vector<double>());
  EXPECT_THROW(seconds("30", "soon", ""), UsageError);
  EXPECT_THROW(seconds("1e999", "", ""), UsageError);
  EXPECT_THROW(seconds("30", "1e999", ""), UsageError);
}

TEST(Deadlines, AsWhoSupervisesWantsThem) {
  const double ever = std::numeric_limits<double>::infinity();
  const Deadlines some{.operation = 30.0, .start = 60.0, .loader = 1800.0, .checkpoint = 5.0};
  EXPECT_EQ(job_deadlines(some).start, 60.0);
  EXPECT_EQ(job_deadlines(some).later, 1800.0);
  EXPECT_EQ(job_deadlines(std::nullopt).start, ever);
  EXPECT_EQ(job_deadlines(std::nullopt).later, ever);
}

TEST(Watchdog, TellsWhoSupervisesThatItPauses) {
  const HeartbeatFile beats(1);
  const Board board(1);
  Heard heard;
  run_ranks(1, [&](Communicator& world) {
    world.flight_recorder()->beat_in({std::shared_ptr<void>(), &beats.slot(0)});
    const auto watchdog = watch(world, board, heard, Deadlines::all(600.0));
    watchdog->pause();
    watchdog->pause();
    watchdog->resume();
    EXPECT_EQ(beats.slot(0).paused, 1);
    watchdog->resume();
    EXPECT_EQ(beats.slot(0).paused, 0);
    world.flight_recorder()->beat_in(nullptr);
  });
}

// Ranks of a group that was split off are found by their own numbers.
TEST(Watchdog, WatchesGroups) {
  const Board board(3);
  Heard heard;
  run_ranks(3, [&](Communicator& world) {
    const auto watchdog = watch(world, board, heard, Deadlines::all(0.15));
    const auto pair = world.split(world.rank() == 0 ? -1 : 0, 0);
    if (pair) pair->barrier().wait();
    if (world.rank() != 1) heard.wait_for(world.rank() == 0 ? 3 : 0);
    if (world.rank() == 1) heard.wait_for(3);
    if (pair) pair->barrier("second").wait();
  });
  const std::string message = heard.message();
  EXPECT_TRUE(message.starts_with(cat("watchdog: rank 1 (process ", getpid(), ") "))) << message;
  EXPECT_NE(message.find("barrier #2 'second' of communicator world/1.0"), std::string::npos) << message;
}

// Also when a rank split alone before.
// Rank 1 does not come to the last of so many groups.
std::string heard_with_groups(std::size_t count) {
  Heard heard;
  const Board board(2);
  run_ranks(2, [&](Communicator& world) {
    const auto watchdog = watch(world, board, heard, Deadlines::all(0.3));
    std::vector<std::unique_ptr<Communicator>> groups;
    while (groups.size() < count) groups.push_back(world.split(0, 0));
    if (world.rank() == 1) heard.wait_for(2);
    groups.back()->barrier().wait();
  });
  return heard.message();
}

TEST(Watchdog, SaysWhatItDoesNotSee) {
  EXPECT_NE(heard_with_groups(20).find("rank 1 (process"), std::string::npos);
  const std::string message = heard_with_groups(ProgressSlot::kGroups + 1);
  EXPECT_NE(
      message.find("it is not known which rank is late, as the watchdog sees 64 communicators of a rank, "
                   "and rank 1 has more"),
      std::string::npos)
      << message;
}

TEST(Watchdog, GroupsHaveTheSameNameOnAllRanks) {
  run_ranks(2, [](Communicator& world) {
    EXPECT_THROW(world.rank() == 0 ? void(world.split(0, 0)) : world.barrier().wait(), CollectiveError);
    const auto part = world.split(0, 0);
    part->barrier().wait();
    const std::string flight = world.flight_recorder()->dump();
    EXPECT_NE(flight.find("communicator world/1.0"), std::string::npos) << flight;
  });
}

TEST(Watchdog, IsQuietWhileOperationsEnd) {
  const Board board(4);
  Heard heard;
  run_ranks(4, [&](Communicator& world) {
    // Far from what a busy machine takes for one of them, and less than all of them take.
    const auto watchdog = watch(world, board, heard, Deadlines::all(2.0));
    for (int step = 0; step < 50; ++step) {
      if (world.rank() == step % 4) sleep_for(0.05);
      world.barrier().wait();
    }
  });
  EXPECT_EQ(heard.count, 0);
}

TEST(Watchdog, WaitsWhilePaused) {
  const Board board(2);
  Heard heard;
  run_ranks(2, [&](Communicator& world) {
    const auto watchdog = watch(world, board, heard, Deadlines::all(0.1));
    watchdog->pause();
    if (world.rank() == 0) sleep_for(0.25);
    world.barrier().wait();
    watchdog->resume();
    world.barrier().wait();
  });
  EXPECT_EQ(heard.count, 0);
}

TEST(Watchdog, WatchesTheStart) {
  Heard heard;
  const ronde::Watchdog watchdog({.deadlines = {.start = 0.1},
                                  .on_alarm = [&](const HangAlarm& alarm) { heard.add(alarm); },
                                  .advice = {},
                                  .warn = {},
                                  .is_orphan = {}});
  heard.wait_for(1);
  EXPECT_NE(heard.message().find("have not come together"), std::string::npos) << heard.message();
}

TEST(Watchdog, EndsAnOrphan) {
  Heard heard;
  const ronde::Watchdog watchdog({.deadlines = {},
                                  .on_alarm = [&](const HangAlarm& alarm) { heard.add(alarm); },
                                  .advice = {},
                                  .warn = {},
                                  .is_orphan = [] { return true; }});
  heard.wait_for(1);
  EXPECT_EQ(heard.message(), "");  // there is nobody to read it
}

TEST(FlightRecorder, KeepsTheLastOperations) {
  FlightRecorder recorder;
  const auto group = recorder.join("world");
  for (int i = 0; i < 300; ++i) {
    group->arrive({.verb = "allreduce", .bytes = 4});
    group->met();
    group->leave();
  }
  group->arrive({.verb = "barrier"});
  const std::string text = recorder.dump();
  EXPECT_NE(text.find("allreduce #300 (4 bytes): waited"), std::string::npos) << text;
  EXPECT_NE(text.find("barrier #301: WAITS for the other ranks"), std::string::npos) << text;
  EXPECT_EQ(text.find("#173 "), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + std::ptrdiff_t{FlightRecorder::kOperations});
  ASSERT_EQ(recorder.pending().size(), 1u);
  EXPECT_EQ(recorder.pending()[0].operation.sequence, 301);
}

// A notice reaches all ranks at the same step, whoever raises it and whenever.
TEST(Notice, IsTakenByAllRanksAtTheSameStep) {
  constexpr int kSteps = 40;
  std::vector<std::vector<int>> taken(4);
  run_ranks(4, [&](Communicator& world) {
    std::vector<int>& own = taken[static_cast<std::size_t>(world.rank())];
    std::vector<double> value(8, 1.0);
    for (int step = 0; step < kSteps; ++step) {
      if (step == 5 && world.rank() == 2) world.raise_notice(1);
      if (step == 20 && world.rank() != 1) world.raise_notice(1 + world.rank());
      const Work first = allreduce(world, value, {.name = "first"});
      own.push_back(world.take_notice());  // waits for what has begun
      first.wait();
    }
  });
  EXPECT_EQ(taken[0][5], 1);
  EXPECT_EQ(*std::max_element(taken[0].begin() + 20, taken[0].end()), 4);
  EXPECT_EQ(std::accumulate(taken[0].begin(), taken[0].end(), 0), 1 + 4);
  for (const std::vector<int>& of_rank : taken) EXPECT_EQ(of_rank, taken[0]);
}

TEST(Notice, OfOneRankIsItsOwn) {
  const auto alone = std::move(make_thread_communicators(1)[0]);
  EXPECT_EQ(alone->take_notice(), 0);
  alone->raise_notice(2);
  alone->raise_notice(1);
  EXPECT_EQ(alone->take_notice(), 2);
  EXPECT_EQ(alone->take_notice(), 0);
}

}  // namespace
}  // namespace ronde::test
