#include <gtest/gtest.h>

#include "distributed/exchange/exchange_ranks.h"

namespace ronde::test {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The paper's formula.
Vector adasum(const Vector& a, const Vector& b) {
  const double product = dot(a, b), of_a = dot(a, a), of_b = dot(b, b);
  Vector result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    result[i] = (of_a > 0.0 ? 1.0 - product / (2.0 * of_a) : 1.0) * a[i] +
                (of_b > 0.0 ? 1.0 - product / (2.0 * of_b) : 1.0) * b[i];
  return result;
}

// Pairs, then pairs of pairs; one without a partner waits.
Vector adasum_of_all(std::vector<Vector> vectors) {
  while (vectors.size() > 1) {
    std::vector<Vector> next;
    for (std::size_t i = 0; i + 1 < vectors.size(); i += 2)
      next.push_back(adasum(vectors[i], vectors[i + 1]));
    if (vectors.size() % 2 != 0) next.push_back(vectors.back());
    vectors = next;
  }
  return vectors.front();
}

const DistributedOptions kAdasum{.buckets = kExchangeBuckets, .combine = Combine::adasum};

TEST(AdasumExchange, EachParameterIsThePapersFormulaInPairs) {
  for (const int ranks : {2, 3, 4, 5, 8}) {
    run_ranks(ranks, [&](Communicator& world) {
      ExchangeRank rank(world, kAdasum);
      // Sums over 1, 2, ... samples; the means are combined.
      const double samples = world.rank() + 1.0;
      rank.exchange().expect({.samples = samples, .knows_samples = true});
      const Vector result = rank.run([&](std::int64_t i) { return samples * irregular(i, world.rank(), 0); });
      expect_same_on_all(world, result);
      for (const Segment& segment : rank.arena().segments()) {
        std::vector<Vector> means;
        for (int r = 0; r < ranks; ++r) {
          Vector mean;
          for (std::int64_t i = segment.offset; i < segment.offset + segment.count; ++i)
            mean.push_back(irregular(i, r, 0));
          means.push_back(mean);
        }
        const Vector expected = adasum_of_all(means);
        for (std::int64_t i = 0; i < segment.count; ++i)
          ASSERT_NEAR(result[static_cast<std::size_t>(segment.offset + i)],
                      expected[static_cast<std::size_t>(i)], 1e-10)
              << segment.name << " of " << ranks << " ranks";
      }
    });
  }
}

TEST(AdasumExchange, EqualGradientsAreAveragedAndAnEmptyRankAddsNothing) {
  run_ranks(3, [](Communicator& world) {
    ExchangeRank rank(world, kAdasum);
    const bool is_empty = world.rank() == 1;
    rank.exchange().expect({.samples = is_empty ? 0.0 : 4.0, .knows_samples = true});
    const Vector result = rank.run([&](std::int64_t i) { return is_empty ? 0.0 : 4.0 * irregular(i, 0, 0); });
    for (const Segment& segment : rank.arena().segments())
      for (std::int64_t i = segment.offset; i < segment.offset + segment.count; ++i)
        ASSERT_NEAR(result[static_cast<std::size_t>(i)], irregular(i, 0, 0), 1e-12);
  });
}

// As many bytes as a sum, but for the products.
TEST(AdasumExchange, SendsAsMuchAsASum) {
  run_ranks(4, [](Communicator& world) {
    ExchangeRank rank(world, kAdasum, DType::f32), plain(world, {.buckets = kExchangeBuckets}, DType::f32);
    rank.exchange().expect({.samples = 1.0, .knows_samples = true});
    rank.run([](std::int64_t) { return 1.0; });
    plain.run([](std::int64_t) { return 1.0; });
    const std::int64_t products = 2 * 3 * (2 + 1) * 4 * 3 * 8 / 4;  // pairs of both rounds, four parameters
    EXPECT_NEAR(static_cast<double>(rank.exchange().bytes_sent()),
                static_cast<double>(plain.exchange().bytes_sent() + products), 64.0);
  });
}

}  // namespace
}  // namespace ronde::test
