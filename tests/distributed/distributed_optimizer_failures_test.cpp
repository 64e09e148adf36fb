// What goes wrong on one rank ends on all.
#include <gtest/gtest.h>

#include "distributed/small_training.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

// An optimizer whose state finds no room.
struct LargeAdam : Adam {
  void attach(ParameterArena&) override { throw Error("no memory for the state"); }
};

TEST(DistributedOptimizer, StateThatOneRankHasNoMemoryForIsAnErrorOnAllRanks) {
  run_ranks(3, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    const bool is_odd = world.rank() == 1;
    DistributedOptimizer optimizer(is_odd ? std::make_unique<LargeAdam>() : make_adam(), world);
    try {
      optimizer.attach(arena);
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "no memory for the state");
      EXPECT_EQ(error.rank(), 1);
    }
    DistributedOptimizer again(make_adam(), world);
    again.attach(arena);
  });
}

// An exception on one rank in the middle of a step must not leave the others waiting.
TEST(DistributedOptimizer, FailureInBackwardReachesAllRanks) {
  const auto errors = run_ranks_collecting(3, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    for (int s = 0;; ++s) {
      arena.zero_gradients();
      if (s == 3 && world.rank() == 2) throw InputError("bad sample");
      net.loss(make_samples(s * 9 + world.rank() * 3, 3)).backward();
      optimizer.step({.samples = 3});
    }
  });
  EXPECT_THROW(std::rethrow_exception(errors[0]), CollectiveError);
  EXPECT_THROW(std::rethrow_exception(errors[1]), CollectiveError);
  EXPECT_THROW(std::rethrow_exception(errors[2]), InputError);
}

TEST(DistributedOptimizer, NeedsAnOptimizer) {
  run_ranks(1, [](Communicator& world) { EXPECT_THROW(DistributedOptimizer(nullptr, world), UsageError); });
}

}  // namespace
}  // namespace ronde::test
