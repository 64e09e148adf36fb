// Timelines of ranks that are threads, which share a process and so a row; processes are tested in
// tests/apps.
#include <ronde/distributed/timeline.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include <ronde/core/ops.h>

#include "support/message_of.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"
#include "timeline/clock.h"

namespace ronde::test {
namespace {

using Json = nlohmann::json;
using test::TempDir;

Json load(const std::string& path) {
  return Json::parse(read_timeline(path));
}

std::size_t count(const Json& timeline, const std::string& name) {
  std::size_t found = 0;
  for (const Json& event : timeline.at("traceEvents")) found += event.at("name") == name;
  return found;
}

std::size_t files_in(const std::string& directory) {
  const std::filesystem::directory_iterator files(directory);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(Timeline, HoldsTheEventsOfAllRanks) {
  const TempDir dir;
  run_ranks(3, [&](Communicator& world) {
    Timeline timeline(world, {.path = dir / "new/t.json"});
    { const TraceScope scope("test", "work \"of\" a rank", {"rank", world.rank()}); }
    world.allreduce(Tensor::full({10}, 1.0)).wait();
    timeline.stop();
    timeline.stop();
  });
  EXPECT_EQ(files_in(dir / "new"), 1u) << "parts are left";
  const Json timeline = load(dir / "new/t.json");
  EXPECT_EQ(timeline.at("otherData").at("ranks"), 3);
  EXPECT_EQ(timeline.at("otherData").at("events lost"), 0);
  EXPECT_EQ(count(timeline, "work \"of\" a rank"), 3u);
  EXPECT_GE(count(timeline, "allreduce"), 3u);
  EXPECT_GE(count(timeline, "wait for ranks"), 3u);
  const Json& first = timeline.at("traceEvents").at(0);
  EXPECT_EQ(first.at("name"), "process_name");
  EXPECT_TRUE(first.at("args").at("name").get<std::string>().starts_with("ranks 0, 1, 2 ("));
}

TEST(Timeline, EventsOfARowNestAndAreInOrder) {
  const TempDir dir;
  run_ranks(2, [&](Communicator& world) {
    const Timeline timeline(world, {.path = dir / "t.json.gz"});
    for (int i = 0; i < 50; ++i) {
      const TraceScope outer("test", "outer");
      const TraceScope inner("test", "inner");
      world.barrier().wait();
    }
  });
  std::map<int, std::vector<double>> open;  // ends of the scopes that are open, by row
  std::map<int, double> last;
  const Json timeline = load(dir / "t.json.gz");
  for (const Json& event : timeline.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const int row = event.at("tid");
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    EXPECT_GE(begin, last.contains(row) ? last[row] : begin);
    last[row] = begin;
    auto& ends = open[row];
    while (!ends.empty() && ends.back() <= begin + 0.0005) ends.pop_back();
    EXPECT_LE(end, (ends.empty() ? end : ends.back()) + 0.0015) << event;
    ends.push_back(end);
  }
  EXPECT_GE(open.size(), 2u);  // two ranks, and their communication threads if these came first
}

TEST(Timeline, IsValidWithNothingInIt) {
  const TempDir dir;
  run_ranks(2, [&](Communicator& world) {
    const Timeline timeline(world, {.path = dir / "t.json", .steps = {.first_step = 1000}});
    const TraceScope scope("test", "before the window");
  });
  const Json timeline = load(dir / "t.json");
  EXPECT_EQ(timeline.at("traceEvents").size(), 1u);  // the process's name
}

TEST(Timeline, StopsAtItsLimitAndSaysSo) {
  const TempDir dir;
  run_ranks(2, [&](Communicator& world) {
    const Timeline timeline(world, {.path = dir / "t.json", .max_bytes = 128 << 10});
    for (int i = 0; i < 3000; ++i) TraceScope("test", "one of many");
  });
  EXPECT_LE(std::filesystem::file_size(dir / "t.json"), 128u << 10);
  const Json timeline = load(dir / "t.json");
  EXPECT_GT(count(timeline, "one of many"), 500u);
  EXPECT_LT(count(timeline, "one of many"), 3000u);
  EXPECT_NE(timeline.at("otherData").at("recording ended early").get<std::string>().find("limit"),
            std::string::npos);
}

TEST(Timeline, ErrorsComeBeforeAnythingRuns) {
  for (const char* path : {"/proc/none/t.json", "/proc"})
    run_ranks(2, [&](Communicator& world) {
      try {
        const Timeline timeline(world, {.path = path});
        ADD_FAILURE() << "a timeline in " << path;
      } catch (const CollectiveError& error) {
        EXPECT_EQ(error.status(), ExitStatus::io);
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      }
      EXPECT_FALSE(is_tracing());
    });
}

TEST(Timeline, AnErrorLeavesThePartsWhichAreValid) {
  const TempDir dir;
  EXPECT_THROW(run_ranks(2,
                         [&](Communicator& world) {
                           const Timeline timeline(world, {.path = dir / "t.json"});
                           { const TraceScope scope("test", "work"); }
                           if (world.rank() == 1) throw Error("no more");
                           world.barrier().wait();
                         }),
               Error);
  EXPECT_FALSE(is_tracing());
  EXPECT_FALSE(std::filesystem::exists(dir / "t.json"));
  EXPECT_GE(count(load(dir / "t.rank0.json"), "work"), 1u);
}

// Rank r's clock: ahead by r * 3 ms, and fast by r parts in 10,000.
std::int64_t skewed_clock(int rank) {
  const std::int64_t now = trace_clock();
  return now + rank * 3'000'000 + now / 10'000 * rank;
}

TEST(Clock, DifferencesAreWithinTheErrorThatIsSaid) {
  run_ranks(3, [](Communicator& world) {
    const auto clock = [&] { return skewed_clock(world.rank()); };
    const ClockDifference measured = measure_clock(world, clock);
    const std::int64_t now = trace_clock();
    const std::int64_t truth = world.rank() * 3'000'000 + now / 10'000 * world.rank();
    // The drift while the measurement lasts is part of no bound.
    EXPECT_LE(std::abs(measured.nanoseconds - truth), measured.error + 1'000'000);
    EXPECT_GE(measured.error, 0);
    EXPECT_EQ(measured.nanoseconds == 0, world.rank() == 0);
  });
}

TEST(Clock, DriftIsTakenOutBetweenTwoMeasurements) {
  // Fast by 1 in 1,000 and 5 ms ahead at the start.
  const auto own = [](std::int64_t time) { return time + time / 1000 + 5'000'000; };
  const std::int64_t length = 10'000'000'000;
  const ClockLine line{.begin = {.nanoseconds = 5'000'000, .error = 0, .at = own(0)},
                       .end = {.nanoseconds = own(length) - length, .error = 0, .at = own(length)}};
  for (const std::int64_t time : {std::int64_t{0}, length / 3, length, 2 * length})
    EXPECT_NEAR(static_cast<double>(line.rank_0_time(own(time))), static_cast<double>(time), 10.0);
}

TEST(TimelineEnvironment, NamesAFile) {
  ::setenv("HOROVOD_TIMELINE", "DYNAMIC", 1);
  EXPECT_FALSE(timeline_from_environment());
  ::setenv("HOROVOD_TIMELINE", "h.json", 1);
  EXPECT_EQ(timeline_from_environment()->path, "h.json");
  ::setenv("RONDE_TIMELINE", "r.json", 1);
  ::setenv("RONDE_TIMELINE_STEPS", "5:9", 1);
  ::setenv("RONDE_TIMELINE_MB", "3", 1);
  const auto options = timeline_from_environment();
  EXPECT_EQ(options->path, "r.json");
  EXPECT_EQ(options->steps.last_step, 9);
  EXPECT_EQ(options->max_bytes, 3 << 20);
  ::setenv("RONDE_TIMELINE_STEPS", "9:5", 1);
  EXPECT_EQ(test::message_of<UsageError>([] { timeline_from_environment(); }),
            "RONDE_TIMELINE_STEPS=9:5: give steps as 100:200, 100: or :200");
  ::setenv("RONDE_TIMELINE_STEPS", "5:9", 1);
  ::setenv("RONDE_TIMELINE_MB", "few", 1);
  EXPECT_THROW(timeline_from_environment(), UsageError);
  for (const char* name : {"HOROVOD_TIMELINE", "RONDE_TIMELINE", "RONDE_TIMELINE_STEPS", "RONDE_TIMELINE_MB"})
    ::unsetenv(name);
}

}  // namespace
}  // namespace ronde::test
