#include <ronde/distributed/self_communicator.h>

#include <gtest/gtest.h>

#include "distributed/collectives_suite.h"

namespace ronde::test {
namespace {

TEST(SelfCommunicator, PassesTheSuite) {
  SelfCommunicator self;
  check_allreduce(self);
  check_broadcast(self);
  check_allgather(self);
  check_allgatherv(self);
  check_reduce_scatter(self);
  check_alltoall(self);
  check_many_in_flight(self);
  check_split(self);
  check_arguments(self);
  check_strings(self);
  check_agree(self);
}

TEST(SelfCommunicator, ConcludesAtOnce) {
  SelfCommunicator self;
  EXPECT_TRUE(self.conclude({ExitStatus::failure, "error", -1, 0.0}));
  EXPECT_EQ(self.name(), "self");
  EXPECT_EQ(self.split(-1, 0), nullptr);
}

}  // namespace
}  // namespace ronde::test
