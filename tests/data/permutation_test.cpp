#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/data/sampler.h>

namespace ronde {
namespace {

std::vector<std::int64_t> values(std::uint64_t seed, std::uint64_t epoch, std::int64_t size) {
  const Permutation permutation(seed, epoch, size);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < size; ++i) all.push_back(permutation(i));
  return all;
}

TEST(Permutation, IsABijection) {
  for (const std::int64_t size :
       {1,  2,  3,  4,   5,   7,   8,    9,    10,   15,   16,    17,    31,    32,    33,
        63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 50000, 60000, 65535, 65536, 65537}) {
    for (const std::uint64_t seed : {0, 1, 12345}) {
      std::vector<char> seen(static_cast<std::size_t>(size), 0);
      for (const std::int64_t value : values(seed, 3, size)) {
        ASSERT_TRUE(value >= 0 && value < size) << size;
        ASSERT_EQ(seen[static_cast<std::size_t>(value)]++, 0) << value << " twice of " << size;
      }
    }
  }
}

TEST(Permutation, WorksFarBeyondMemory) {
  const std::int64_t size = (std::int64_t{1} << 40) + 7;
  const Permutation permutation(5, 0, size);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const std::int64_t value = permutation(size - 1 - i);
    ASSERT_TRUE(value >= 0 && value < size);
    ASSERT_TRUE(seen.insert(value).second);
  }
}

TEST(Permutation, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(values(1, 2, 1000), values(1, 2, 1000));
  EXPECT_NE(values(1, 2, 1000), values(1, 3, 1000));
  EXPECT_NE(values(1, 2, 1000), values(2, 2, 1000));
  EXPECT_NE(values(1, 2, 1000), values(2, 1, 1000));
}

// Where element e lands must be uniform. Under that hypothesis the statistic has (n - 1)^2 degrees of
// freedom; six standard deviations above the mean never happen by chance.
TEST(Permutation, EveryElementIsEquallyLikelyEverywhere) {
  for (const std::int64_t n : {2, 3, 5, 6, 10, 16, 33}) {
    const int trials = 20000;
    std::vector<double> count(static_cast<std::size_t>(n * n), 0.0);
    for (int trial = 0; trial < trials; ++trial) {
      const Permutation permutation(7, static_cast<std::uint64_t>(trial), n);
      for (std::int64_t i = 0; i < n; ++i) count[static_cast<std::size_t>(i * n + permutation(i))] += 1;
    }
    const double expected = static_cast<double>(trials) / static_cast<double>(n);
    double chi_square = 0.0;
    for (const double c : count) chi_square += (c - expected) * (c - expected) / expected;
    const auto freedom = static_cast<double>((n - 1) * (n - 1));
    EXPECT_LT(chi_square, freedom + 6 * std::sqrt(2 * freedom) + 12) << n;
  }
}

// Neighbours must not stay neighbours: the number of i with p(i + 1) = p(i) + 1 is Poisson-distributed with
// mean 1 (about), summed over 50 epochs.
TEST(Permutation, BreaksNeighbourhoods) {
  int kept = 0;
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    const auto all = values(0, epoch, 60000);
    for (std::size_t i = 0; i + 1 < all.size(); ++i) kept += all[i + 1] == all[i] + 1;
  }
  EXPECT_GT(kept, 50 - 6 * 7);
  EXPECT_LT(kept, 50 + 6 * 7);
}

TEST(Permutation, RejectsAnEmptyRange) {
  EXPECT_THROW(Permutation(0, 0, 0), Error);
}

}  // namespace
}  // namespace ronde
