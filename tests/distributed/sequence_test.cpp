// Communicator::sequence: several collectives as one operation.
#include <gtest/gtest.h>
#include <ronde/core/backend.h>
#include <ronde/distributed/self_communicator.h>

#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

Tensor numbers(std::initializer_list<double> values) {
  return Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values, &backend("cpu"));
}

TEST(Sequence, RunsItsPartsInOrderBetweenOtherOperations) {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    run_ranks(ranks, [&](Communicator& world) {
      const Tensor before = numbers({1.0}), inside = numbers({1.0 + world.rank()}), after = numbers({2.0});
      const Tensor all = Tensor::zeros({ranks}, inside.options());
      const Work first = world.allreduce(before);
      const Work second = world.sequence("two parts", [&](Communicator& parts) {
        EXPECT_EQ(parts.rank(), world.rank());
        EXPECT_EQ(parts.size(), world.size());
        EXPECT_EQ(before.item(), ranks);
        parts.allgather(all, inside).wait();
        inside.fill(all.to_vector<double>().back());
        parts.allreduce(inside).wait();
      });
      const Work third = world.allreduce(after);
      for (const Work& work : {third, second, first}) work.wait();
      EXPECT_EQ(inside.item(), ranks * ranks);
      EXPECT_EQ(after.item(), 2.0 * ranks);
    });
  }
}

TEST(Sequence, AnErrorOfOneRankReachesAll) {
  run_ranks(3, [](Communicator& world) {
    const Tensor sum = numbers({1.0});
    const Work work = world.sequence("may fail", [&](Communicator& parts) {
      require(world.rank() != 1, "out of order");
      parts.allreduce(sum).wait();
    });
    try {
      work.wait();
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.rank(), 1);
      EXPECT_EQ(std::string(error.what()), "out of order");
    }
  });
}

// What is queued behind a sequence cannot be done before it.
TEST(Sequence, MustNotWaitForItsOwnCommunicator) {
  run_ranks(2, [](Communicator& world) {
    const Work work = world.sequence("wrong", [&](Communicator&) { world.barrier().wait(); });
    try {
      work.wait();
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_NE(std::string(error.what()).find("use the communicator that it is given"), std::string::npos)
          << error.what();
    }
  });
}

// Nor can what is made together; and it is not made when nobody waits for it any more.
TEST(Sequence, MustNotMakeAnythingOfItsOwnCommunicator) {
  run_ranks(2, [](Communicator& world) {
    for (const bool splits : {true, false}) {
      const std::unique_ptr<Communicator> group = world.split(0, world.rank());
      const Work work = group->sequence("wrong", [&](Communicator&) {
        splits ? void(group->split(0, 0)) : void(group->shared_tensor({100000}, {}));
      });
      EXPECT_THROW(work.wait(), CollectiveError);
      EXPECT_THROW(group->barrier().wait(), CollectiveError);
    }
    world.barrier().wait();
  });
}

TEST(Sequence, RanksMustCallTheSame) {
  run_ranks(2, [](Communicator& world) {
    const auto nothing = [](Communicator&) {};
    EXPECT_THROW(world.sequence(world.rank() == 0 ? "bucket 1" : "bucket 2", nothing).wait(),
                 CollectiveError);
    world.sequence("bucket 3", nothing).wait();  // usable afterwards
    const Tensor values = numbers({1.0, 2.0});
    const Work different = world.sequence("parts differ", [&](Communicator& parts) {
      parts.allreduce(world.rank() == 0 ? values : values.view(0, {1})).wait();
    });
    EXPECT_THROW(different.wait(), CollectiveError);
    world.barrier().wait();
  });
}

}  // namespace
}  // namespace ronde::test
