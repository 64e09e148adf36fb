#include "training/straggler.h"

#include <gtest/gtest.h>

#include <ronde/core/philox.h>

#include "support/thread_ranks.h"
#include "training/rank_watch.h"

namespace ronde {
namespace {

/// Steps of a rank, simulated: multiplied by noise in [1, 1 + spread), some of them by ten.
class Rank {
 public:
  explicit Rank(double seconds, double spread = 0.2) : seconds_(seconds), spread_(spread) {}
  StepTimes window(std::uint32_t number, std::uint32_t rank) const {
    std::vector<double> times;
    for (std::uint32_t step = 0; step < 32; ++step) {
      const auto bits = philox(7, {step, number, rank, 0});
      const double hiccup = uniform_float(bits[1]) < 0.1f ? 10.0 : 1.0;
      times.push_back(seconds_ * (1.0 + spread_ * uniform_float(bits[0])) * hiccup);
    }
    return step_times(times);
  }

 private:
  double seconds_, spread_;
};

std::vector<StepTimes> windows(const std::vector<Rank>& ranks, std::uint32_t number) {
  std::vector<StepTimes> all;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    all.push_back(ranks[r].window(number, static_cast<std::uint32_t>(r)));
  return all;
}

std::vector<Straggler> after(StragglerDetector& detector, const std::vector<Rank>& ranks,
                             std::uint32_t count) {
  std::vector<Straggler> found;
  for (std::uint32_t number = 0; number < count; ++number)
    for (const Straggler& straggler : detector.add(windows(ranks, number))) found.push_back(straggler);
  return found;
}

TEST(StepTimesTest, Quartiles) {
  const StepTimes times = step_times({5, 1, 4, 2, 3});
  EXPECT_EQ(times.lower, 2);
  EXPECT_EQ(times.median, 3);
  EXPECT_EQ(times.upper, 4);
  EXPECT_EQ(step_times({7}).median, 7);
}

TEST(StragglerDetectorTest, FindsTheSlowRankOnce) {
  StragglerDetector detector;
  const std::vector<Rank> ranks{Rank(0.010), Rank(0.010), Rank(0.020), Rank(0.011)};
  EXPECT_TRUE(after(detector, ranks, 2).empty());
  const std::vector<Straggler> found = after(detector, ranks, 50);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_NEAR(found[0].seconds / found[0].others_seconds, 2.0, 0.3);
}

TEST(StragglerDetectorTest, WhoWasToldOfIsNotToldOfAgain) {
  StragglerDetector detector;
  const std::vector<Rank> slow{Rank(0.010), Rank(0.010), Rank(0.020)},
      even{Rank(0.010), Rank(0.010), Rank(0.010)};
  EXPECT_EQ(after(detector, slow, 3).size(), 1u);
  EXPECT_TRUE(after(detector, even, 3).empty());
  EXPECT_TRUE(after(detector, slow, 9).empty());
}

// Slower in most steps, but not in all, is what a machine does that others use.
TEST(StragglerDetectorTest, WhatOverlapsWithTheOthersIsNone) {
  const std::vector<StepTimes> others(3, {0.010, 0.010, 0.012});
  for (const double lower : {0.011, 0.013}) {
    StragglerDetector detector;
    std::vector<StepTimes> ranks = others;
    ranks.push_back({lower, 0.020, 0.030});
    std::size_t found = 0;
    for (int window = 0; window < 5; ++window) found += detector.add(ranks).size();
    EXPECT_EQ(found, lower > 0.012 ? 1u : 0u) << lower;
  }
}

TEST(StragglerDetectorTest, TwoRanks) {
  for (const bool first : {false, true}) {
    StragglerDetector detector;
    const std::vector<Straggler> found =
        after(detector, {Rank(first ? 0.015 : 0.010, 0.1), Rank(first ? 0.010 : 0.015, 0.1)}, 3);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].rank, first ? 0 : 1);
  }
}

TEST(StragglerDetectorTest, AllOfASlowNode) {
  StragglerDetector detector;
  const std::vector<Straggler> found =
      after(detector, {Rank(0.01), Rank(0.01), Rank(0.03), Rank(0.03), Rank(0.01)}, 5);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_EQ(found[1].rank, 3);
}

TEST(StragglerDetectorTest, NoiseIsNone) {
  for (const std::size_t size : {1u, 2u, 3u, 8u}) {
    StragglerDetector detector;
    EXPECT_TRUE(after(detector, std::vector<Rank>(size, Rank(0.010, 1.5)), 300).empty());
  }
}

TEST(StragglerDetectorTest, AMomentIsNone) {
  StragglerDetector detector;
  const std::vector<Rank> even(4, Rank(0.010));
  std::vector<Rank> disturbed = even;
  disturbed[1] = Rank(0.100);
  for (int round = 0; round < 10; ++round) {
    EXPECT_TRUE(after(detector, disturbed, 2).empty());
    EXPECT_TRUE(after(detector, even, 1).empty());
  }
}

TEST(StragglerDetectorTest, SmallDifferencesAreNone) {
  StragglerDetector detector;
  EXPECT_TRUE(after(detector, {Rank(0.010, 0.0), Rank(0.012, 0.0)}, 20).empty());      // a fifth
  EXPECT_TRUE(after(detector, {Rank(0.00010, 0.0), Rank(0.00020, 0.0)}, 20).empty());  // 100 us
}

TEST(RankWatchTest, SaysWhichRankItIs) {
  std::vector<RankFacts> ranks(2);
  ranks[0].rank = 3, ranks[0].host = "a", ranks[0].threads = 4;
  ranks[1].rank = 5, ranks[1].host = "b", ranks[1].threads = 1;
  const std::string text = describe(Straggler{1, 0.030, 0.010}, ranks);
  EXPECT_NE(text.find("rank 5 on b (threads: 1, rank 3: 4) takes 3.0 times as long"), std::string::npos)
      << text;
  EXPECT_NE(text.find("(30 ms, the others 10 ms)"), std::string::npos) << text;
  ranks[1].threads = 4, ranks[1].kernels = "slow", ranks[0].kernels = "fast";
  EXPECT_NE(
      describe(Straggler{1, 0.030, 0.010}, ranks).find("rank 5 on b (kernels: slow, rank 3: fast) takes"),
      std::string::npos);
}

// Ranks that are threads of a process share its cores, so nothing is compared, whatever their times.
TEST(RankWatchTest, RanksThatTakeTurnsAreNotCompared) {
  test::run_ranks(2, [](Communicator& world) {
    std::vector<std::string> problems;
    RankWatch watch(world, [&](const std::string& problem) { problems.push_back(problem); });
    watch.begin({.deterministic = true});
    for (int step = 0; step < 200; ++step) watch.add_step(world.rank() == 1 ? 1.0 : 0.01);
    EXPECT_TRUE(problems.empty()) << problems.front();
  });
}

// With a sample or none the one rank has all to do, and its machine is not to blame.
TEST(RankWatchTest, ComparesLikeSharesOnly) {
  EXPECT_FALSE(have_like_shares(1, 2));
  EXPECT_FALSE(have_like_shares(15, 2));  // 8 and 7
  EXPECT_TRUE(have_like_shares(17, 2));
  EXPECT_TRUE(have_like_shares(2, 2));
  EXPECT_TRUE(have_like_shares(128, 3));
}

}  // namespace
}  // namespace ronde
