#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include <ronde/core/error.h>
#include <ronde/distributed/network.h>
#include <ronde/distributed/tcp_communicator.h>

#include "support/temp_dir.h"

namespace ronde::test {
namespace {

TEST(Network, PrivateAddresses) {
  for (const char* address :
       {"127.0.0.1", "127.8.9.1", "10.255.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
        "169.254.7.7", "::1", "fd00::1", "fe80::1", "::ffff:10.0.0.1"})
    EXPECT_TRUE(is_private_address(address)) << address;
  for (const char* address : {"8.8.8.8", "11.0.0.1", "172.15.0.1", "172.32.0.1", "192.169.1.1", "100.128.0.1",
                              "0.0.0.0", "::", "2001:db8::1", "::ffff:8.8.8.8", "", "node1"})
    EXPECT_FALSE(is_private_address(address)) << address;
}

TEST(Network, AddressesOfAnInterfaceOrANetwork) {
  const auto has = [](const std::vector<std::string>& all, const char* one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (const char* where : {"", "lo", "127.0.0.0/8", "127.0.0.1", "0.0.0.0/0"})
    EXPECT_TRUE(has(local_addresses(where), "127.0.0.1")) << where;
  EXPECT_FALSE(has(local_addresses("127.0.0.0/8"), "::1"));
  for (const char* where : {"no-such-interface", "203.0.113.7", "127.0.0.0/33", "127.0.0.0/", "127.0.0/8"})
    EXPECT_THROW(local_addresses(where), UsageError) << where;
}

// What the file of a rendezvous tells is where rank 0 listens.
TEST(Network, RankZeroListensWhereItIsTold) {
  const TempDir dir;
  const auto address_for = [&](const std::string& iface) {
    const std::string file = dir / ("meeting" + iface);
    std::thread alone([&] {
      EXPECT_THROW(make_tcp_communicator(
                       {.rank = 0, .size = 2, .rendezvous = "file:" + file, .iface = iface, .patience = 0.5}),
                   Error);
    });
    std::string address;
    for (int i = 0; i < 400 && address.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::ifstream(file) >> address;
    }
    alone.join();
    return address.substr(0, address.rfind(':'));
  };
  EXPECT_EQ(address_for("lo"), "127.0.0.1");
  EXPECT_TRUE(is_private_address(address_for(""))) << "a public address, though nobody asked for it";
}

}  // namespace
}  // namespace ronde::test
