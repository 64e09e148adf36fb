#include <ronde/distributed/shard_sum.h>

#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/philox.h>
#include <ronde/distributed/self_communicator.h>
#include <bit>

#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using Values = std::vector<float>;

TensorOptions host_floats() {
  return {.dtype = DType::f32, .backend = &backend("cpu")};
}

/// Of very different magnitudes, so that another order of sums shows.
Values shard_values(int shard, std::size_t count) {
  Values values;
  for (std::size_t i = 0; i < count; ++i) {
    const Philox4 words = philox(static_cast<std::uint64_t>(shard), {static_cast<std::uint32_t>(i), 0, 0, 0});
    values.push_back((uniform_float(words[0]) - 0.5f) * static_cast<float>(1 << (words[1] % 20)));
  }
  return values;
}

/// The definition: a tree over shards [first, first + size), of which those below `present` exist.
Values tree(int first, int size, int present, std::size_t count) {
  if (size == 1) return shard_values(first, count);
  Values left = tree(first, size / 2, present, count);
  if (first + size / 2 >= present) return left;
  const Values right = tree(first + size / 2, size / 2, present, count);
  for (std::size_t i = 0; i < count; ++i) left[i] += right[i];
  return left;
}

std::vector<int> even_layout(int shards, int ranks) {
  std::vector<int> first;
  for (int rank = 0; rank <= ranks; ++rank) first.push_back(shards * rank / ranks);
  return first;
}

void check_sums(Communicator& communicator, int shards, std::size_t count) {
  const std::vector<int> first = even_layout(shards, communicator.size());
  ShardSum sum(communicator, first, static_cast<std::int64_t>(count), host_floats());
  for (const int present : {shards, 1, (shards + 1) / 2, shards}) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    for (int shard = first[rank]; shard < std::min(first[rank + 1], present); ++shard) {
      const Tensor to = sum.next();
      to.copy_from(Tensor::from<float>({to.count()}, shard_values(shard, count)));
      sum.add(shard);
    }
    const Tensor total = sum.finish(present);
    EXPECT_EQ(total.to_vector<float>(),
              tree(0, static_cast<int>(std::bit_ceil(unsigned(shards))), present, count))
        << present << " of " << shards << " shards on " << communicator.size() << " ranks";
  }
}

TEST(ShardSum, IsTheSameTreeOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 16})
    run_ranks(ranks, [&](Communicator& communicator) {
      for (const int shards : {16, 17, 23})
        for (const std::size_t count : {1u, 100u}) check_sums(communicator, shards, count);
    });
}

TEST(ShardSum, RunsAlone) {
  SelfCommunicator self;
  for (const int shards : {1, 2, 5, 16}) check_sums(self, shards, 33);
  check_sums(self, 4, (1 << 16) + 7);  // more than stays in cache
}

TEST(ShardSum, HoldsAsManyVectorsAsTheTreeIsDeep) {
  SelfCommunicator self;
  ShardSum sum(self, {0, 64}, 10, host_floats());
  std::vector<void*> buffers;
  for (int shard = 0; shard < 64; ++shard) {
    buffers.push_back(sum.next().raw());
    sum.add(shard);
  }
  std::sort(buffers.begin(), buffers.end());
  EXPECT_LE(std::unique(buffers.begin(), buffers.end()) - buffers.begin(), 7);
  sum.finish(64);
}

TEST(ShardSum, RejectsWhatDoesNotFit) {
  SelfCommunicator self;
  EXPECT_THROW(ShardSum(self, {0}, 10, host_floats()), UsageError);
  EXPECT_THROW(ShardSum(self, {2, 1}, 10, host_floats()), UsageError);
  ShardSum sum(self, {0, 4}, 10, host_floats());
  EXPECT_THROW(sum.add(0), Error);
  EXPECT_THROW(sum.finish(5), UsageError);
  EXPECT_THROW(sum.finish(4), Error);  // its vectors are missing
}

}  // namespace
}  // namespace ronde::test
