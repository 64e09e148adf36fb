#include "tcp/rendezvous_place.h"

#include <array>

#include <unistd.h>

#include <gtest/gtest.h>
#include <ronde/core/error.h>

namespace ronde::test {
namespace {

// See Note [Names of this machine].
TEST(RendezvousPlace, ListensForOthersWhereItsNameMeansLoopback) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const int port = own_address(listen_at({"0.0.0.0", 0})).port;
  std::string own;
  try {
    own = own_address(listen_at({name.data(), 0})).host;
  } catch (const Error&) {
    GTEST_SKIP() << "nobody knows " << name.data();
  }
  const std::string outward = outward_host("");
  if (!is_loopback(own) || is_loopback(outward)) GTEST_SKIP() << name.data() << " means " << own;
  const auto reaches = [&](const std::string& host) {
    std::string problem;
    return connect_to({host, port}, Deadline(1.0), problem).is_open();
  };
  {
    RendezvousPlace place(cat("tcp://", name.data(), ':', port), "");
    const std::vector<Socket> listeners = place.open("");
    EXPECT_TRUE(reaches(own));
    EXPECT_TRUE(reaches(outward));
  }
  RendezvousPlace place(cat("tcp://localhost:", port), "");
  const std::vector<Socket> listeners = place.open("");
  EXPECT_FALSE(reaches(outward)) << "who says localhost means it";
}

TEST(RendezvousPlace, ReadsWhatAFileSays) {
  const RendezvousPlace place("file:/nowhere", "");
  RendezvousPlace::Told told;
  EXPECT_TRUE(place.parse("node1:29500 abc", told));
  EXPECT_EQ(to_string(told.address), "node1:29500");
  EXPECT_EQ(told.token, "abc");
  for (const char* text : {"", "hello", "hello world", "node1:0 abc", "node1:port abc"})
    EXPECT_FALSE(place.parse(text, told)) << text;
}

}  // namespace
}  // namespace ronde::test
