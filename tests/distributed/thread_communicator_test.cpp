#include <ronde/distributed/thread_communicator.h>

#include <atomic>
#include <chrono>
#include <ctime>

#include <gtest/gtest.h>

#include "distributed/collective_values.h"
#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

class ThreadCommunicatorTest : public testing::TestWithParam<int> {};

TEST_P(ThreadCommunicatorTest, Allreduce) {
  run_ranks(GetParam(), check_allreduce);
}
TEST_P(ThreadCommunicatorTest, BucketSizes) {
  run_ranks(GetParam(), check_bucket_sizes);
}
TEST_P(ThreadCommunicatorTest, Broadcast) {
  run_ranks(GetParam(), check_broadcast);
}
TEST_P(ThreadCommunicatorTest, Allgather) {
  run_ranks(GetParam(), check_allgather);
}
TEST_P(ThreadCommunicatorTest, Allgatherv) {
  run_ranks(GetParam(), check_allgatherv);
}
TEST_P(ThreadCommunicatorTest, UnknownRows) {
  run_ranks(GetParam(), check_unknown_rows);
}
TEST_P(ThreadCommunicatorTest, ReduceScatter) {
  run_ranks(GetParam(), check_reduce_scatter);
}
TEST_P(ThreadCommunicatorTest, UnevenReduceScatter) {
  run_ranks(GetParam(), check_uneven_reduce_scatter);
}
TEST_P(ThreadCommunicatorTest, Alltoall) {
  run_ranks(GetParam(), check_alltoall);
}
TEST_P(ThreadCommunicatorTest, AlltoallSplits) {
  run_ranks(GetParam(), check_alltoall_splits);
}
TEST_P(ThreadCommunicatorTest, InPlace) {
  run_ranks(GetParam(), check_in_place);
}
TEST_P(ThreadCommunicatorTest, Integers) {
  run_ranks(GetParam(), check_integers);
}
TEST_P(ThreadCommunicatorTest, Nans) {
  run_ranks(GetParam(), check_nans);
}
TEST_P(ThreadCommunicatorTest, Scales) {
  run_ranks(GetParam(), check_scales);
}
TEST_P(ThreadCommunicatorTest, Grouped) {
  run_ranks(GetParam(), check_grouped);
}
TEST_P(ThreadCommunicatorTest, Scalars) {
  run_ranks(GetParam(), check_scalars);
}
TEST_P(ThreadCommunicatorTest, ManyInFlight) {
  run_ranks(GetParam(), check_many_in_flight);
}
TEST_P(ThreadCommunicatorTest, Contract) {
  run_ranks(GetParam(), check_contract);
}
TEST_P(ThreadCommunicatorTest, GroupsAtOnce) {
  run_ranks(GetParam(), check_groups_at_once);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadCommunicatorTest, testing::Values(1, 2, 3, 4, 5, 7, 8, 16));

TEST(ThreadCommunicator, IsOneNode) {
  run_ranks(3, [](Communicator& c) {
    EXPECT_EQ(c.name(), "thread");
    EXPECT_EQ(c.local_rank(), c.rank());
    EXPECT_EQ(c.local_size(), 3);
    EXPECT_EQ(c.cross_rank(), 0);
    EXPECT_EQ(c.cross_size(), 1);
  });
}

// The operation goes on although its caller does not wait, and is not done before the others came.
TEST(ThreadCommunicator, RunsBehindItsCaller) {
  std::atomic<bool> first_saw_it_pending{false};
  run_ranks(2, [&](Communicator& c) {
    const Tensor data = Tensor::full({1000}, 1.0, host(DType::f32));
    if (c.rank() == 1) {
      while (!first_saw_it_pending) std::this_thread::yield();
    }
    const Work work = c.allreduce(data);
    if (c.rank() == 0) {
      EXPECT_FALSE(work.done());
      first_saw_it_pending = true;
    }
    while (!work.done()) std::this_thread::yield();
    EXPECT_EQ(data.to_vector<double>()[999], 2.0);
  });
}

// Sums are taken in rank order: ((1e8 + 1) - 1e8) in f32 is 0, in any other order 1 or more.
TEST(ThreadCommunicator, AddsInRankOrder) {
  run_ranks(3, [](Communicator& c) {
    const double values[] = {1e8, 1.0, -1e8};
    const Tensor data = Tensor::full({5}, values[c.rank()], host(DType::f32));
    c.allreduce(data).wait();
    EXPECT_EQ(data.to_vector<double>(), std::vector<double>(5, 0.0));
  });
}

TEST(ThreadCommunicator, WaitingCostsNoProcessorTime) {
  const std::clock_t before = std::clock();  // of all threads
  run_ranks(4, [](Communicator& c) {
    if (c.rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    c.barrier().wait();
  });
  // Three ranks that spin would use a second each, on two cores together two.
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 1.0);
}

// A rank that fails does not leave the others waiting.
TEST(ThreadCommunicator, FailedRankReleasesTheOthers) {
  const auto errors = run_ranks_collecting(3, [](Communicator& c) {
    if (c.rank() == 1) throw InputError("bad file");
    c.barrier().wait();
  });
  EXPECT_THROW(std::rethrow_exception(errors[0]), CollectiveError);
  EXPECT_THROW(std::rethrow_exception(errors[1]), InputError);
  EXPECT_THROW(std::rethrow_exception(errors[2]), CollectiveError);
}

TEST(ThreadCommunicator, ConcludeBringsTheErrorToAll) {
  run_ranks(3, [](Communicator& c) {
    try {
      if (c.rank() == 1) {
        c.conclude({.status = ExitStatus::io, .message = "disk full", .patience = 30.0});
      } else {
        const Work pending = c.barrier();
        c.barrier().wait();
      }
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "disk full");
      EXPECT_EQ(error.rank(), 1);
      EXPECT_EQ(error.status(), ExitStatus::io);
    }
    // Nobody waits for anybody any more.
    EXPECT_THROW(c.barrier().wait(), CollectiveError);
  });
}

TEST(ThreadCommunicator, ConcludeNamesTheLowestFailedRank) {
  run_ranks(4, [](Communicator& c) {
    try {
      if (c.rank() == 0) {
        c.conclude({});
      } else {
        c.conclude({.status = ExitStatus::failure, .message = cat("error ", c.rank()), .patience = 30.0});
      }
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "error 1");
    }
  });
}

TEST(ThreadCommunicator, ConcludeWithTheErrorOfALargerGroup) {
  run_ranks(2, [](Communicator& c) {
    try {
      if (c.rank() == 1) {
        c.conclude({.status = ExitStatus::failure, .message = "of eight", .rank = 7, .patience = 30.0});
      } else {
        c.barrier().wait();
      }
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "of eight");
      EXPECT_EQ(error.rank(), 1);
      EXPECT_EQ(error.world_rank(), 1);
    }
  });
}

TEST(ThreadCommunicator, ConcludeInPeace) {
  run_ranks(3, [](Communicator& c) { EXPECT_TRUE(c.conclude({})); });
}

TEST(ThreadCommunicator, ConcludeLosesPatience) {
  run_ranks(2, [](Communicator& c) {
    if (c.rank() == 0) {
      EXPECT_FALSE(c.conclude({.status = ExitStatus::failure, .message = "alone", .patience = 0.05}));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    try {
      c.barrier().wait();
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "alone");
    }
  });
}

// A rank that has finished while another still calls: an error, not a hang.
TEST(ThreadCommunicator, OneCollectiveTooMany) {
  run_ranks(2, [](Communicator& c) {
    try {
      if (c.rank() == 0) {
        c.conclude({});
      } else {
        c.barrier().wait();
      }
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(
          error.what(),
          "[distributed] ranks disagree: rank 0 calls nothing more (it is done), rank 1 calls barrier()");
    }
  });
}

// The calls of one rank must not add up to a meeting of two.
TEST(ThreadCommunicator, RankThatLeftIsNeverTakenForPresent) {
  auto ranks = make_thread_communicators(2);
  for (int i = 0; i < 2; ++i) {
    const Work first = ranks[0]->barrier(), second = ranks[1]->barrier();
    first.wait();
    second.wait();
  }
  ranks[1].reset();
  for (int i = 0; i < 4; ++i) EXPECT_THROW(ranks[0]->barrier().wait(), CollectiveError);
}

TEST(ThreadCommunicator, NeedsARank) {
  EXPECT_THROW(make_thread_communicators(0), UsageError);
}

}  // namespace
}  // namespace ronde::test
