#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/data/block_permutation.h>

namespace ronde {
namespace {

using Order = std::vector<std::int64_t>;

Order order_of(std::int64_t size, BlockPermutationOptions options, std::uint64_t seed = 1,
               std::uint64_t epoch = 0) {
  const BlockPermutation permutation(seed, epoch, size, options);
  Order order;
  for (std::int64_t position = 0; position < size; ++position) order.push_back(permutation(position));
  return order;
}

TEST(BlockPermutation, IsABijection) {
  for (const std::int64_t size : {1, 2, 3, 7, 10, 99, 100, 101, 1000})
    for (const std::int64_t block : {1, 2, 3, 10, 64, 5000})
      for (const std::int64_t window : {1, 2, 7, 1000})
        for (const std::uint64_t epoch : {0, 1, 2}) {
          Order order = order_of(size, {.block = block, .window = window}, 5, epoch), all(order.size());
          std::iota(all.begin(), all.end(), 0);
          std::sort(order.begin(), order.end());
          ASSERT_EQ(order, all) << size << " in blocks of " << block << ", window " << window;
        }
}

// A window touches its own blocks, and one more where the short block shifts the others.
TEST(BlockPermutation, ReadsFewBlocksAtATime) {
  for (const std::int64_t size : {1000, 997}) {
    const Order order = order_of(size, {.block = 10, .window = 4});
    for (std::size_t first = 0; first < order.size(); first += 40) {
      std::set<std::int64_t> blocks;
      for (std::size_t i = first; i < std::min(first + 40, order.size()); ++i) blocks.insert(order[i] / 10);
      EXPECT_LE(blocks.size(), size == 1000 ? 4u : 6u);
    }
  }
}

// Before any of the others, and behind all of them.
TEST(BlockPermutation, AShortBlockComesAnywhere) {
  std::set<std::int64_t> places;  // of the sample that is a block of its own
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    const Order order = order_of(7, {.block = 2, .window = 1}, 1, epoch);
    places.insert((std::find(order.begin(), order.end(), 6) - order.begin()) / 2);
  }
  EXPECT_EQ(places, (std::set<std::int64_t>{0, 1, 2, 3}));
}

TEST(BlockPermutation, EachWindowHasAnOrderOfItsOwn) {
  const Order order = order_of(64, {.block = 16, .window = 1});
  std::set<Order> orders;
  for (auto block = order.begin(); block != order.end(); block += 16) {
    Order within(block, block + 16);
    for (std::int64_t& sample : within) sample %= 16;
    orders.insert(within);
  }
  EXPECT_EQ(orders.size(), 4u);
}

TEST(BlockPermutation, ShufflesBlocksAndWithinThem) {
  const Order order = order_of(4096, {.block = 16, .window = 8});
  // Places that neighbours move apart: of 4,095 pairs about one in 128 would stay neighbours by chance.
  int neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1;
  EXPECT_LT(neighbours, 100);
  // Blocks come from everywhere: the mean of a window's samples is far from its place.
  int far = 0;
  for (std::size_t first = 0; first < order.size(); first += 128)
    far += std::abs(order[first] - static_cast<std::int64_t>(first)) > 512;
  EXPECT_GT(far, 16);
  EXPECT_NE(order, order_of(4096, {.block = 16, .window = 8}, 2));
  EXPECT_NE(order, order_of(4096, {.block = 16, .window = 8}, 1, 1));
}

// Otherwise the last samples of a data set would always come at the same place.
TEST(BlockPermutation, MovesTheShortBlock) {
  std::set<std::size_t> places;
  for (std::uint64_t epoch = 0; epoch < 40; ++epoch) {
    const Order order = order_of(103, {.block = 10, .window = 1}, 1, epoch);
    places.insert(static_cast<std::size_t>(std::find(order.begin(), order.end(), 102) - order.begin()) / 10);
  }
  EXPECT_GT(places.size(), 5u);
}

TEST(BlockPermutation, RejectsNonsense) {
  EXPECT_THROW(BlockPermutation(1, 0, 0, {}), Error);
  EXPECT_THROW(BlockPermutation(1, 0, 5, {.block = 0}), Error);
  EXPECT_THROW(BlockPermutation(1, 0, 5, {.window = 0}), Error);
}

/// All samples of an epoch, in the order of steps and ranks.
Order epoch_of(SamplerOptions options, int world_size) {
  options.world_size = world_size;
  Order order;
  std::vector<ShardedSampler> ranks;
  for (options.rank = 0; options.rank < world_size; ++options.rank) ranks.emplace_back(options);
  for (std::int64_t step = 0; step < ranks[0].steps_per_epoch(); ++step) {
    std::vector<std::vector<SampleKey>> shards;
    for (const ShardedSampler& rank : ranks) shards.push_back(rank.samples(step));
    const std::int64_t total = ranks[0].global_count(step);
    for (std::int64_t k = 0; k < total; ++k)
      order.push_back(shards[static_cast<std::size_t>(k % world_size)]
                          .at(static_cast<std::size_t>(k / world_size))
                          .sample);
  }
  return order;
}

TEST(BlockPermutation, IsTheSamplersOrderForAnyNumberOfRanks) {
  const SamplerOptions options{
      .size = 103, .global_batch = 8, .seed = 3, .shuffle_block = 10, .shuffle_window = 2};
  const Order expected = order_of(103, {.block = 10, .window = 2}, 3);
  for (const int ranks : {1, 2, 3, 8}) EXPECT_EQ(epoch_of(options, ranks), expected);
  EXPECT_THROW(ShardedSampler({.size = 5, .shuffle_block = -1}), UsageError);
  EXPECT_THROW(ShardedSampler({.size = 5, .shuffle_block = 1, .shuffle_window = 0}), UsageError);
}

}  // namespace
}  // namespace ronde
