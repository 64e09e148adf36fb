#include <ronde/core/philox.h>

#include <set>

#include "core/testing.h"

namespace ronde {
namespace {

// Known-answer vectors published with Random123 (philox4x32, 10 rounds).
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), (Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~std::uint64_t{0}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The first outputs of SplitMix64 for the seed 1234567, as published with its reference implementation.
TEST(Philox, Mix64IsSplitMix64) {
  std::uint64_t state = 1234567;
  EXPECT_EQ(mix64(state), 6457827717110365317u);
  EXPECT_EQ(mix64(state += 0x9E3779B97F4A7C15u), 3203168211198807973u);
}

// FNV-1a test vectors of its authors.
TEST(Philox, HashNameIsFnv1a) {
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8u);
}

TEST(Philox, EveryCoordinateOfASampleCounts) {
  const std::uint64_t key = random_key(7, hash_name("dropout"));
  std::set<Philox4> seen{sample_bits(key, 5, 1, 0),
                         sample_bits(key, 5, 1, 1),
                         sample_bits(key, 5, 2, 0),
                         sample_bits(key, 6, 1, 0),
                         sample_bits(key, 5 + (std::uint64_t{1} << 32), 1, 0),
                         sample_bits(random_key(8, hash_name("dropout")), 5, 1, 0),
                         sample_bits(random_key(7, hash_name("dropout_1")), 5, 1, 0)};
  EXPECT_EQ(seen.size(), 7u);
}

TEST(Philox, UniformNumbersStayBelowOne) {
  EXPECT_EQ(uniform_float(0), 0.0f);
  EXPECT_EQ(uniform_float(0xffffffff), 1.0f - 0x1p-24f);
  EXPECT_EQ(uniform_float(0x80000000), 0.5f);
  EXPECT_EQ(uniform_double(0, 0), 0.0);
  EXPECT_EQ(uniform_double(0xffffffff, 0xffffffff), 1.0 - 0x1p-53);
  EXPECT_EQ(uniform_double(0x80000000, 0), 0.5);
}

TEST(Philox, MeanAndVarianceAreThoseOfAUniformNumber) {
  constexpr int kDraws = 40000;
  double sum = 0, squares = 0;
  for (std::uint32_t i = 0; i < kDraws / 4; ++i)
    for (const std::uint32_t word : philox(42, {i, 0, 0, 0})) {
      const double u = uniform_float(word);
      sum += u;
      squares += u * u;
    }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.006);  // four standard errors
  EXPECT_NEAR(squares / kDraws - mean * mean, 1.0 / 12, 0.002);
}

}  // namespace
}  // namespace ronde
