#include "watchdog/heartbeat.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace ronde::test {
namespace {

class Heartbeat : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("RONDE_HEARTBEAT"); }

  // The slot of a rank that was started with this address.
  static std::shared_ptr<HeartbeatSlot> open_at(const std::string& address, int rank) {
    setenv("RONDE_HEARTBEAT", address.c_str(), 1);
    return open_heartbeat(rank);
  }

  HeartbeatFile beats_{2};
};

TEST_F(Heartbeat, IsSharedWithWhoSupervises) {
  const std::shared_ptr<HeartbeatSlot> slot = open_at(beats_.address(), 1);
  ASSERT_NE(slot, nullptr);
  slot->step = 7;
  EXPECT_EQ(beats_.slot(1).step, 7);
  EXPECT_EQ(beats_.slot(0).step, 0);
  EXPECT_EQ(open_at(beats_.address(), 2), nullptr);
}

// A program and a `ronde run` of different versions would not mean the same by the same bytes.
TEST_F(Heartbeat, OfAnotherVersionIsNone) {
  const std::string address = beats_.address();
  const std::string path = address.substr(address.find(':') + 1);
  EXPECT_EQ(open_at(path, 0), nullptr);
  EXPECT_EQ(open_at("1:" + path, 0), nullptr);
  EXPECT_EQ(open_at("", 0), nullptr);
  EXPECT_NE(open_at(address, 0), nullptr);
}

}  // namespace
}  // namespace ronde::test
