#include "training/autotuner.h"

#include <gtest/gtest.h>

#include <ronde/core/philox.h>
#include <ronde/core/thread_pool.h>

#include "models/testing.h"
#include "support/thread_ranks.h"
#include "training/speed_tuning.h"

namespace ronde::test {
namespace {

/// Ways with these times, and noise in [1, 1 + spread); a clock that is not there.
struct Race {
  std::vector<double> seconds;
  double spread = 0.0;
  std::uint32_t seed = 0;

  struct Result {
    int way = 0;
    int trials = 0;
    std::vector<int> of_way = {};
  };
  Result run() const {
    Autotuner tuner(static_cast<int>(seconds.size()));
    Result result{.of_way = std::vector<int>(seconds.size())};
    while (!tuner.is_done() && result.trials < 10'000) {
      const auto way = static_cast<std::size_t>(tuner.way());
      const auto bits = philox(seed, {static_cast<std::uint32_t>(result.trials++), 0, 0, 0});
      ++result.of_way[way];
      tuner.add(seconds[way] * (1.0 + spread * uniform_float(bits[0])));
    }
    EXPECT_TRUE(tuner.is_done());
    result.way = tuner.way();
    return result;
  }
};

TEST(Autotuner, TakesTheFastestWay) {
  EXPECT_EQ((Race{{1.0, 0.9, 0.7, 0.8}}.run().way), 2);
  EXPECT_EQ((Race{{1.0, 0.9, 0.7, 0.8}, 0.1}.run().way), 2);
  EXPECT_EQ((Race{{1.0, 1.5, 0.9}}.run().way), 2);
}

TEST(Autotuner, KeepsTheDefaultUnlessAnotherIsClearlyFaster) {
  EXPECT_EQ((Race{{1.0, 1.2, 3.0, 1.01}}.run().way), 0);
  EXPECT_EQ((Race{{1.0, 1.0, 0.99}}.run().way), 0);
  EXPECT_EQ((Race{{1.0}}.run().trials), 0);
}

TEST(Autotuner, NoiseDoesNotMakeItSlower) {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const Race race{{1.0, 1.05, 1.03, 1.2}, 0.3, seed};
    EXPECT_EQ(race.run().way, 0) << seed;
  }
}

TEST(Autotuner, DropsWhatIsSlowAtOnce) {
  const Race::Result result = Race{{1.0, 50.0, 20.0}}.run();
  EXPECT_EQ(result.of_way, (std::vector<int>{2, 1, 1}));
}

// The first times are good for one and the later ones for the other, as when a machine warms up.
TEST(Autotuner, AMachineThatBecomesFasterFavoursNobody) {
  Autotuner tuner(3);
  double seconds = 1.0;
  for (int trial = 0; !tuner.is_done() && trial < 100; ++trial, seconds *= 0.9) tuner.add(seconds);
  EXPECT_TRUE(tuner.is_done());
  EXPECT_EQ(tuner.way(), 0);
}

TEST(Autotuner, AWinnerThatLosesToTheDefaultInTheEndIsDropped) {
  Autotuner tuner(2);
  for (int trial = 0; trial < 8; ++trial) tuner.add(tuner.way() == 0 ? 1.0 : 0.5);
  ASSERT_FALSE(tuner.is_done());
  for (int trial = 0; trial < 16 && !tuner.is_done(); ++trial) tuner.add(1.0);
  EXPECT_TRUE(tuner.is_done());
  EXPECT_EQ(tuner.way(), 0);
}

TEST(Fit, AutotuneChangesSpeedOnly) {
  const InMemoryDataset data = small_images(40);
  std::vector<double> losses;
  for (const bool autotune : {false, true}) {
    test::run_ranks(2, [&](Communicator& world) {
      Model model(
          small_net(), {6, 6, 1},
          {.communicator = &world, .seed = 5, .dtype = DType::f64, .backend = &ronde::backend("cpu")});
      CompileOptions compile = small_compile(0.01);
      compile.distributed.buckets = {.first_bucket_bytes = 64,
                                     .bucket_bytes = 64};  // so that there are others
      model.compile(std::move(compile));
      const History history =
          model.fit(data, {.global_batch_size = 8, .epochs = 30, .autotune = autotune, .verbose = 0});
      EXPECT_TRUE(autotune || model.progress().tuned.empty());
      if (world.rank() == 0) losses.push_back(history.values.at("loss").back());
    });
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-6);  // other threads may round differently
}

/// What a SpeedTuning looks at.
struct Tuned {
  explicit Tuned(Communicator& world, DistributedOptions options = {}) : net(small_net()) {
    net->build({6, 6, 1});
    state.communicator = &world;
    state.arena = std::make_unique<ParameterArena>(*net);
    state.optimizer =
        std::make_unique<DistributedOptimizer>(std::make_unique<Adam>(), world, std::move(options));
    state.optimizer->attach(*state.arena);
  }
  const std::unique_ptr<Module> net;
  Model::State state;
};

TEST(SpeedTuning, TriesOtherBucketsAndEndsWithTheBestOrTheDefault) {
  const BucketOptions small{.first_bucket_bytes = 64, .bucket_bytes = 64};
  for (const int steps : {7, 1000}) {  // cut short while it tries another way, and not
    test::run_ranks(2, [&](Communicator& world) {
      Tuned tuned(world, {.buckets = small});
      DistributedOptimizer& optimizer = *tuned.state.optimizer;
      SpeedTuning tuning(tuned.state, {});
      bool has_tried = false;
      for (int step = 0; step < steps && !tuning.is_done(); ++step) {
        const bool is_default = optimizer.options().buckets.bucket_bytes == small.bucket_bytes;
        has_tried = has_tried || !is_default;
        tuning.add_step(is_default ? 1.0 : 0.5, true);
      }
      EXPECT_TRUE(has_tried);
      EXPECT_EQ(tuning.is_done(), steps == 1000);
      tuning.finish();
      EXPECT_EQ(optimizer.options().buckets.bucket_bytes == small.bucket_bytes, steps == 7);
    });
  }
}

TEST(SpeedTuning, UsesWhatIsFasterOnTheSlowestRank) {
  ThreadPool& pool = default_backend().threads();
  const int before = pool.size();
  pool.resize(4);
  test::run_ranks(2, [&](Communicator& world) {
    Tuned tuned(world);
    SpeedTuning tuning(tuned.state, {.deterministic = true});
    // One thread less is faster on rank 0, and much slower on rank 1; half of them are a little faster on
    // both.
    const auto seconds = [&] {
      return pool.size() == 4 ? 1.0 : pool.size() == 2 ? 0.9 : world.rank() == 0 ? 0.1 : 3.0;
    };
    for (int step = 0; step < 1000 && !tuning.is_done(); ++step) tuning.add_step(seconds(), true);
    EXPECT_TRUE(tuning.is_done());
    EXPECT_EQ(pool.size(), 2);
    EXPECT_EQ(tuning.description(), "2 threads");
    const SpeedTuning next(tuned.state, {.deterministic = true});
    EXPECT_TRUE(next.is_done());
    EXPECT_EQ(next.description(), "2 threads");
  });
  EXPECT_EQ(pool.size(), 4) << "the limit stays on the training's thread";
  pool.resize(before);
}

}  // namespace
}  // namespace ronde::test
