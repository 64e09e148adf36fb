#include <gtest/gtest.h>

#include "distributed/exchange/exchange_ranks.h"

namespace ronde::test {
namespace {

struct Format {
  Compression compression;
  double unit;  // of rounding
};

// |result - sum| <= unit * (sum of |values| + |result|), as compression.h says; and a little for f32 sums.
void expect_bounded_error(const Format& format, int ranks, DType dtype) {
  run_ranks(ranks, [&](Communicator& world) {
    ExchangeRank rank(world, {.buckets = kExchangeBuckets, .compression = format.compression}, dtype);
    const std::vector<double> result =
        rank.run([&](std::int64_t i) { return irregular(i, world.rank(), 0); });
    expect_same_on_all(world, result);
    for (const Segment& segment : rank.arena().segments()) {
      for (std::int64_t i = segment.offset; i < segment.offset + segment.count; ++i) {
        double sum = 0.0, magnitudes = 0.0;
        for (int r = 0; r < ranks; ++r) {
          const double value = irregular(i, r, 0);
          sum += dtype == DType::f32 ? double{static_cast<float>(value)} : value;
          magnitudes += std::abs(value);
        }
        const double actual = result[static_cast<std::size_t>(i)];
        const double bound = (format.unit + ranks * 0x1p-23) * (magnitudes + std::abs(actual));
        ASSERT_LE(std::abs(actual - sum), bound) << "element " << i << " of " << ranks << " ranks";
      }
    }
  });
}

TEST(HalfExchange, BfloatErrorIsBounded) {
  for (const int ranks : {2, 3, 4, 8}) expect_bounded_error({compression::Bf16{}, 0x1p-8}, ranks, DType::f32);
  expect_bounded_error({compression::Bf16{}, 0x1p-8}, 3, DType::f64);
}

TEST(HalfExchange, HalfErrorIsBounded) {
  for (const int ranks : {2, 3, 4, 8})
    expect_bounded_error({compression::Fp16{}, 0x1p-11}, ranks, DType::f32);
  expect_bounded_error({compression::Fp16{}, 0x1p-11}, 3, DType::f64);
}

// Whole numbers of few bits are exact in either format, so the sums are too.
TEST(HalfExchange, SmallWholeNumbersAreExact) {
  for (const Compression& compression :
       {Compression(compression::Bf16{}), Compression(compression::Fp16{})}) {
    run_ranks(4, [&](Communicator& world) {
      ExchangeRank rank(world, {.buckets = kExchangeBuckets, .compression = compression}, DType::f32);
      const std::vector<double> result =
          rank.run([&](std::int64_t i) { return static_cast<double>((i + world.rank()) % 16); });
      for (const Segment& segment : rank.arena().segments())
        for (std::int64_t i = segment.offset; i < segment.offset + segment.count; ++i)
          ASSERT_EQ(result[static_cast<std::size_t>(i)],
                    static_cast<double>(i % 16 + (i + 1) % 16 + (i + 2) % 16 + (i + 3) % 16));
    });
  }
}

TEST(HalfExchange, SendsHalfOfTheBytes) {
  run_ranks(2, [](Communicator& world) {
    const auto sent = [&](const Compression& compression) {
      ExchangeRank rank(world, {.buckets = kExchangeBuckets, .compression = compression}, DType::f32);
      rank.run([](std::int64_t) { return 1.0; });
      return static_cast<double>(rank.exchange().bytes_sent());
    };
    const double extras = ParameterArena::kExtras * 4;
    const double whole = sent(compression::None{}) - extras;
    EXPECT_EQ((sent(compression::Bf16{}) - extras) / whole, 0.5);
    EXPECT_NEAR((sent(compression::Fp16{}) - extras) / whole, 0.5, 0.05);
  });
}

}  // namespace
}  // namespace ronde::test
