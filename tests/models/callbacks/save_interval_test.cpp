#include "callbacks/save_interval.h"

#include <gtest/gtest.h>

#include <cmath>

#include <ronde/models/model_checkpoint.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

/// The share of time that is lost with failures at random (exponential), by Daly's model: a segment of
/// `interval + cost` seconds is repeated until none falls into it. Restarts cost the same whatever the
/// interval, so they are left out.
double expected_time_per_work(double interval, double cost, double mtbf) {
  return mtbf * (std::exp((interval + cost) / mtbf) - 1.0) / interval;
}

TEST(SaveInterval, NoOtherIntervalIsExpectedToLoseNoticeablyLess) {
  for (const double mtbf : {10.0, 60.0, 3600.0, 1e6})
    for (const double cost : {1e-4, 0.01, 0.5, 2.0}) {
      const double best = expected_time_per_work(best_save_interval(cost, mtbf), cost, mtbf);
      for (double other = 1e-3; other < mtbf; other *= 1.05)
        EXPECT_LT(best, 1.002 * expected_time_per_work(other, cost, mtbf))
            << "cost " << cost << ", mtbf " << mtbf << ", interval " << other;
    }
}

// Daly's bound: where saving takes twice the mean time between failures, nothing is gained by it.
TEST(SaveInterval, IsTheTimeBetweenFailuresWhereSavingTakesTwiceThatAndMore) {
  EXPECT_EQ(best_save_interval(20.0, 10.0), 10.0);
  EXPECT_EQ(best_save_interval(1000.0, 10.0), 10.0);
}

TEST(SaveInterval, FollowsWhatStepsAndSavesCost) {
  SaveInterval interval(3600.0);
  EXPECT_EQ(interval.next(20), 20) << "nothing is known yet";
  const auto steps = [&](double seconds) {
    for (int i = 0; i < 10; ++i) interval.add_step(seconds);
  };
  steps(0.05);
  interval.add_pause(0.004);
  interval.add_write(0.016);
  EXPECT_EQ(interval.next(20), 160) << "one measurement changes it by a factor of 8 at most";
  steps(0.05);
  EXPECT_EQ(interval.next(160), 240);  // sqrt(2 * 0.02 * 3600) = 12 s
  steps(0.5);
  EXPECT_EQ(interval.next(240), 24) << "slower steps, fewer of them";
  steps(100.0);
  EXPECT_EQ(interval.next(24), 1);
}

TEST(SaveInterval, OneLongPauseDoesNotDecideAlone) {
  SaveInterval interval(3600.0);
  for (int i = 0; i < 10; ++i) interval.add_step(0.05);
  interval.add_pause(0.01);
  interval.add_pause(0.03);
  EXPECT_EQ(interval.next(240), 240);  // sqrt(2 * 0.02 * 3600) = 12 s
}

TEST(SaveInterval, AllRanksSaveAtTheSameStepsAndSoDoesAResumedRun) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(100);
  std::vector<std::int64_t> intervals(3);
  test::run_ranks(3, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    ModelCheckpoint files({.filepath = dir / "{epoch}-{batch}.h5", .mtbf_seconds = 0.1});
    model.fit(data, {.global_batch_size = 2, .callbacks = {&files}, .verbose = 0});
    intervals[static_cast<std::size_t>(world.rank())] = files.save_interval();
    EXPECT_NE(files.last_path(), "");
  });
  EXPECT_EQ(intervals[0], intervals[1]);
  EXPECT_EQ(intervals[0], intervals[2]);

  Model model = small_model();
  ModelCheckpoint first({.filepath = dir / "a.h5", .mtbf_seconds = 1.0}),
      second({.filepath = dir / "b.h5", .mtbf_seconds = 1.0});
  CallbackState state = first.state();
  for (auto& [key, value] : state.values)
    if (key == "interval") value = std::int64_t{77};
  second.restore(state);
  EXPECT_EQ(second.save_interval(), 77);
  ModelCheckpoint given({.filepath = dir / "c.h5", .save_steps = 5});
  given.restore(state);
  EXPECT_EQ(given.save_interval(), 5);
}

TEST(SaveInterval, IsGivenOrMeasuredNotBoth) {
  EXPECT_EQ(message_of<UsageError>(
                [] { ModelCheckpoint({.filepath = "a.h5", .save_steps = 5, .mtbf_seconds = 1.0}); }),
            "[model_checkpoint] saves after save_steps steps, or as often as mtbf_seconds says, got 5 and 1");
  EXPECT_THROW(ModelCheckpoint({.filepath = "a.h5", .mtbf_seconds = -1.0}), UsageError);
}

}  // namespace
}  // namespace ronde::test
