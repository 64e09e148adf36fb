#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/data/sampler.h>

namespace ronde {
namespace {

using Keys = std::vector<SampleKey>;

/// What all ranks take in a step, in the step's order: number k of the step is rank k mod N's k / N-th.
Keys global_step(SamplerOptions options, int world_size, std::int64_t step) {
  options.world_size = world_size;
  std::vector<Keys> shards;
  std::size_t total = 0;
  for (options.rank = 0; options.rank < world_size; ++options.rank) {
    shards.push_back(ShardedSampler(options).samples(step));
    total += shards.back().size();
  }
  Keys keys;
  for (std::size_t k = 0; k < total; ++k) keys.push_back(shards[k % shards.size()].at(k / shards.size()));
  return keys;
}

class Ranks : public ::testing::TestWithParam<int> {};

TEST_P(Ranks, TakeEverySampleExactlyOnceInAnEpoch) {
  for (const std::int64_t size : {1, 2, 5, 13, 100, 1000}) {
    for (const std::int64_t batch : {1, 3, 7, 32, 128}) {
      const SamplerOptions options{.size = size, .global_batch = batch, .seed = 9};
      const std::int64_t steps = ShardedSampler(options).steps_per_epoch();
      EXPECT_EQ(steps, (size + batch - 1) / batch);
      for (const std::int64_t epoch : {0, 1, 4}) {
        std::vector<int> taken(static_cast<std::size_t>(size), 0);
        for (std::int64_t step = epoch * steps; step < (epoch + 1) * steps; ++step) {
          const Keys keys = global_step(options, GetParam(), step);
          EXPECT_EQ(static_cast<std::int64_t>(keys.size()), ShardedSampler(options).global_count(step));
          for (const SampleKey& key : keys) {
            EXPECT_EQ(key.epoch, epoch);
            ++taken.at(static_cast<std::size_t>(key.sample));
          }
        }
        EXPECT_EQ(taken, std::vector<int>(static_cast<std::size_t>(size), 1)) << size << " by " << batch;
      }
    }
  }
}

TEST_P(Ranks, TakeTheSameGlobalStepWhateverTheirNumber) {
  for (const bool repeat : {false, true})
    for (const std::int64_t size : {3, 50, 1000}) {
      const SamplerOptions options{.size = size, .global_batch = 64, .repeat = repeat, .seed = 1};
      for (std::int64_t step = 0; step < 40; ++step)
        EXPECT_EQ(global_step(options, GetParam(), step), global_step(options, 1, step));
    }
}

TEST_P(Ranks, RepeatRunsAcrossPasses) {
  const SamplerOptions options{.size = 10, .global_batch = 7, .repeat = true, .seed = 3};
  Keys stream;
  for (std::int64_t step = 0; step < 100; ++step) {
    const Keys keys = global_step(options, GetParam(), step);
    ASSERT_EQ(keys.size(), 7u);
    stream.insert(stream.end(), keys.begin(), keys.end());
  }
  for (std::size_t p = 0; p < stream.size(); ++p) {
    const Permutation permutation(3, p / 10, 10);
    EXPECT_EQ(stream[p],
              (SampleKey{permutation(static_cast<std::int64_t>(p % 10)), static_cast<std::int64_t>(p / 10)}));
  }
}

TEST_P(Ranks, MakeAnEpochOfSeveralPasses) {
  const SamplerOptions options{.size = 10, .global_batch = 8, .passes = 3, .seed = 3};
  const std::int64_t steps = ShardedSampler(options).steps_per_epoch();
  ASSERT_EQ(steps, 4);  // 8 + 8 + 8 + 6
  for (const std::int64_t epoch : {0, 1, 5}) {
    Keys stream;
    for (std::int64_t step = epoch * steps; step < (epoch + 1) * steps; ++step) {
      const Keys keys = global_step(options, GetParam(), step);
      EXPECT_EQ(static_cast<std::int64_t>(keys.size()), ShardedSampler(options).global_count(step));
      stream.insert(stream.end(), keys.begin(), keys.end());
    }
    ASSERT_EQ(stream.size(), 30u);
    for (std::int64_t p = 0; p < 30; ++p) {
      const std::int64_t pass = epoch * 3 + p / 10;
      const Permutation permutation(3, static_cast<std::uint64_t>(pass), 10);
      EXPECT_EQ(stream[static_cast<std::size_t>(p)], (SampleKey{permutation(p % 10), pass}));
    }
  }
}

TEST_P(Ranks, TakeWholeVirtualShards) {
  constexpr int kShards = 16;
  const SamplerOptions options{.size = 50, .global_batch = 21, .seed = 1, .virtual_shards = kShards};
  for (std::int64_t step = 0; step < 7; ++step) {
    SamplerOptions plain = options;
    plain.virtual_shards = 0;
    const Keys all = ShardedSampler(plain).samples(step);
    Keys by_shard;
    for (std::size_t shard = 0; shard < kShards; ++shard)
      for (std::size_t k = shard; k < all.size(); k += kShards) by_shard.push_back(all[k]);
    Keys taken;
    int next = 0;
    for (int rank = 0; rank < GetParam(); ++rank) {
      SamplerOptions mine = options;
      mine.rank = rank, mine.world_size = GetParam();
      const ShardedSampler sampler(mine);
      EXPECT_EQ(sampler.shards().first, next);
      next = sampler.shards().last;
      EXPECT_LE(next - sampler.shards().first, (kShards + GetParam() - 1) / GetParam());
      const Keys keys = sampler.samples(step);
      EXPECT_EQ(static_cast<std::int64_t>(keys.size()), sampler.shards().own_size(all.size()));
      EXPECT_LE(static_cast<std::int64_t>(keys.size()), sampler.max_count());
      taken.insert(taken.end(), keys.begin(), keys.end());
    }
    EXPECT_EQ(next, kShards);
    EXPECT_EQ(taken, by_shard);
  }
}

TEST_P(Ranks, HaveSharesThatDifferByAtMostOne) {
  const int n = GetParam();
  for (const std::int64_t batch : {1, 5, 16, 33}) {
    for (std::int64_t step = 0; step < 5; ++step) {
      std::int64_t least = batch, most = 0;
      for (int rank = 0; rank < n; ++rank) {
        const ShardedSampler sampler({.size = 40, .global_batch = batch, .rank = rank, .world_size = n});
        const auto count = static_cast<std::int64_t>(sampler.samples(step).size());
        EXPECT_LE(count, sampler.max_count());
        if (step == 0) {
          EXPECT_EQ(count, sampler.max_count());
        }
        least = std::min(least, count);
        most = std::max(most, count);
      }
      EXPECT_LE(most - least, 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Ranks, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 16));

TEST(ShardedSampler, WithoutShufflingKeepsTheOrder) {
  const ShardedSampler sampler({.size = 10, .global_batch = 4, .rank = 1, .world_size = 2, .shuffle = false});
  EXPECT_EQ(sampler.samples(0), (Keys{{1, 0}, {3, 0}}));
  EXPECT_EQ(sampler.samples(2), (Keys{{9, 0}}));
  EXPECT_EQ(sampler.samples(3), (Keys{{1, 1}, {3, 1}}));
}

TEST(ShardedSampler, ShufflesEachEpochAndSeedAnew) {
  const auto order = [](std::uint64_t seed, std::int64_t epoch) {
    return ShardedSampler({.size = 500, .global_batch = 500, .seed = seed}).samples(epoch);
  };
  const auto samples = [](Keys keys) {
    for (SampleKey& key : keys) key.epoch = 0;
    return keys;
  };
  EXPECT_NE(samples(order(0, 0)), samples(order(0, 1)));
  EXPECT_NE(order(0, 0), order(1, 0));
}

TEST(ShardedSampler, CountsPassesFromAnyNumber) {
  for (const bool repeat : {false, true}) {
    SamplerOptions options{.size = 10, .global_batch = 4, .repeat = repeat, .seed = 3};
    const ShardedSampler from_0(options);
    options.first_pass = 2;
    const ShardedSampler from_2(options);
    const std::int64_t steps = repeat ? 5 : 3;  // in all of which whole passes are taken
    const std::int64_t passes = repeat ? 2 : 1;
    for (std::int64_t step = 0; step < 3; ++step)
      EXPECT_EQ(from_2.samples(step), from_0.samples(step + 2 / passes * steps)) << repeat;
    std::vector<std::int64_t> begun;
    for (std::int64_t step = 0; step <= 5; ++step) begun.push_back(from_2.passes_begun(step));
    EXPECT_EQ(begun, repeat ? (std::vector<std::int64_t>{2, 3, 3, 4, 4, 4})
                            : (std::vector<std::int64_t>{2, 3, 3, 3, 4, 4}));
  }
}

TEST(ShardedSampler, MoreRanksThanSamplesLeavesSomeEmpty) {
  const ShardedSampler last({.size = 3, .global_batch = 8, .rank = 7, .world_size = 8});
  EXPECT_TRUE(last.samples(0).empty());
  EXPECT_EQ(last.max_count(), 0);
  EXPECT_EQ(last.global_count(0), 3);
}

TEST(ShardedSampler, CountsSteps) {
  EXPECT_EQ(ShardedSampler({.size = 60000, .global_batch = 128}).steps_per_epoch(), 469);
  EXPECT_EQ(ShardedSampler({.size = 60000, .global_batch = 128}).global_count(468), 96);
  EXPECT_EQ(ShardedSampler({.size = 60000, .global_batch = 128}).global_count(469), 128);
  EXPECT_EQ(ShardedSampler({.size = 50000, .global_batch = 32}).steps_per_epoch(), 1563);
  EXPECT_EQ(ShardedSampler({.size = 50000, .global_batch = 64, .passes = 2}).steps_per_epoch(), 1563);
  EXPECT_EQ(ShardedSampler({.size = 60000, .global_batch = 128, .repeat = true}).steps_per_epoch(), 468);
  EXPECT_EQ(ShardedSampler({.size = 5, .global_batch = 128, .repeat = true}).steps_per_epoch(), 1);
}

TEST(ShardedSampler, RejectsNonsense) {
  EXPECT_THROW(ShardedSampler({.size = 0}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 1, .global_batch = 0}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 1, .passes = 0}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 1, .first_pass = -1}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 1, .virtual_shards = -1}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 1, .world_size = 3, .virtual_shards = 2}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 1, .rank = 2, .world_size = 2}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 1, .rank = -1, .world_size = 2}), UsageError);
}

}  // namespace
}  // namespace ronde
