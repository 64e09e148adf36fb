#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <ronde/distributed/objects.h>
#include <ronde/distributed/values.h>

#include "distributed/contract_suite.h"

namespace ronde::test {

namespace {

struct Settings {
  int epochs = 0;
  double rate = 0.0;
};

}  // namespace

void check_objects(Communicator& c) {
  const int root = c.size() - 1;
  const Settings settings = broadcast_object(c, Settings{c.rank() + 1, 0.5 * c.rank()}, root).wait();
  EXPECT_EQ(settings.epochs, c.size());
  EXPECT_EQ(settings.rate, 0.5 * root);
  // More on root than elsewhere, and nothing.
  using Words = std::vector<std::string>;
  const Words words = c.rank() == root ? Words{"", std::string(3000, 'x'), "z"} : Words{};
  EXPECT_EQ(broadcast_object(c, words, root).wait(), (Words{"", std::string(3000, 'x'), "z"}));
  EXPECT_EQ(broadcast_object(c, Words{}, 0).wait(), Words{});
  const std::map<std::string, double> metrics{{"loss", 0.25 * c.rank()}, {"rank", c.rank()}};
  const auto all = allgather_object(c, metrics, "metrics").wait();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(c.size()));
  for (int r = 0; r < c.size(); ++r) {
    EXPECT_EQ(all[static_cast<std::size_t>(r)],
              (std::map<std::string, double>{{"loss", 0.25 * r}, {"rank", r}}));
  }
  const std::vector<bool> bits(static_cast<std::size_t>(c.rank()), true);
  EXPECT_EQ(allgather_object(c, bits).wait().back(), std::vector<bool>(static_cast<std::size_t>(root), true));
  EXPECT_EQ(allgather_strings(c, cat("rank ", c.rank())).back(), cat("rank ", root));
  EXPECT_EQ(broadcast_string(c, cat("from ", c.rank()), root), cat("from ", root));
}

void check_values(Communicator& c) {
  const int size = c.size();
  std::vector<float> sums{1.0F, static_cast<float>(c.rank())};
  allreduce(c, sums).wait();
  EXPECT_EQ(sums, (std::vector<float>{static_cast<float>(size), static_cast<float>(size * (size - 1) / 2)}));
  std::array<bool, 2> flags{c.rank() == 0, c.rank() == 0};
  allreduce(c, flags).wait();  // 256 of them would be 0 as bytes
  EXPECT_EQ(flags, (std::array<bool, 2>{true, true}));
  flags[1] = c.rank() == 0;
  allreduce(c, std::span(flags), {.op = Reduction::product}).wait();
  EXPECT_EQ(flags, (std::array<bool, 2>{true, size == 1}));
  std::vector<std::int64_t> from_root(3, c.rank());
  broadcast(c, from_root, size - 1).wait();
  EXPECT_EQ(from_root, std::vector<std::int64_t>(3, size - 1));
  const std::vector<int> mine(static_cast<std::size_t>(c.rank()), c.rank());
  std::vector<int> expected;
  for (int r = 0; r < size; ++r) expected.insert(expected.end(), static_cast<std::size_t>(r), r);
  EXPECT_EQ(allgather(c, mine).wait(), expected);
  const std::vector<double> ones(static_cast<std::size_t>(size + 1), 1.0);
  EXPECT_EQ(reduce_scatter(c, ones).wait(), std::vector<double>(c.rank() == 0 ? 2 : 1, size));
  const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size), static_cast<std::uint8_t>(c.rank()));
  const auto received = alltoall(c, bytes, std::vector<std::int64_t>(bytes.size(), 1)).wait();
  for (int r = 0; r < size; ++r) EXPECT_EQ(received.values[static_cast<std::size_t>(r)], r);
  EXPECT_EQ(allreduce_value(c, c.rank()).wait(), (size - 1) / 2.0);
  EXPECT_TRUE(c.barrier().wait_for(60.0));
}

}  // namespace ronde::test
