#include <ronde/core/whole_numbers.h>

#include <gtest/gtest.h>

#include <cstdint>

namespace ronde::test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(WholeNumbers, CeilDivideCountsThePartThatIsNotFull) {
  EXPECT_EQ(ceil_divide(0, 4), 0);
  EXPECT_EQ(ceil_divide(1, 4), 1);
  EXPECT_EQ(ceil_divide(8, 4), 2);
  EXPECT_EQ(ceil_divide(9, 4), 3);
  EXPECT_EQ(ceil_divide(-3, 4), 0);
  EXPECT_EQ(ceil_divide(-4, 4), -1);
  EXPECT_EQ(ceil_divide(std::size_t{9}, std::size_t{4}), 3u);
  EXPECT_EQ(ceil_divide<std::int64_t>(40, kMost), 1);
  EXPECT_EQ(ceil_divide<std::int64_t>(kMost, 2), kMost / 2 + 1);
}

TEST(WholeNumbers, RoundUpIsTheNextMultiple) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(65, 64), 128);
  EXPECT_EQ(round_up(std::size_t{9}, std::size_t{12}), 12u);
}

TEST(WholeNumbers, ProductOrMostStopsAtTheLargest) {
  EXPECT_EQ(product_or_most(6, 7), 42);
  EXPECT_EQ(product_or_most<std::int64_t>(kMost, 0), 0);
  EXPECT_EQ(product_or_most<std::int64_t>(kMost, 1), kMost);
  EXPECT_EQ(product_or_most<std::int64_t>(kMost, 2), kMost);
  EXPECT_EQ(product_or_most<std::int64_t>(kMost / 2, 2), kMost - 1);
}

}  // namespace
}  // namespace ronde::test
