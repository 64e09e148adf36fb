#include <ronde/distributed/self_communicator.h>

#include <gtest/gtest.h>

#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"

namespace ronde::test {
namespace {

TEST(SelfCommunicator, PassesTheSuite) {
  SelfCommunicator self;
  check_collectives(self);
  check_contract(self);
  check_groups_at_once(self);
}

TEST(SelfCommunicator, ConcludesAtOnce) {
  SelfCommunicator self;
  EXPECT_TRUE(self.conclude({.status = ExitStatus::failure, .message = "error", .patience = 0.0}));
  EXPECT_EQ(self.name(), "self");
  EXPECT_EQ(self.split(-1, 0), nullptr);
}

}  // namespace
}  // namespace ronde::test
