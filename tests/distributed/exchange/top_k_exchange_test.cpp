#include <algorithm>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "distributed/exchange/exchange_ranks.h"
#include "exchange/select_largest.h"

namespace ronde::test {
namespace {

template <class T>
std::vector<std::int32_t> largest_by_sorting(const std::vector<T>& values, std::size_t k) {
  std::vector<std::int32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::int32_t a, std::int32_t b) {
    return std::abs(values[static_cast<std::size_t>(a)]) > std::abs(values[static_cast<std::size_t>(b)]);
  });
  places.resize(k);
  std::sort(places.begin(), places.end());
  return places;
}

template <class T>
void expect_largest(const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  for (std::int64_t k = 0; k <= count; k += 1 + k / 3)
    ASSERT_EQ(select_largest(values.data(), count, k),
              largest_by_sorting(values, static_cast<std::size_t>(k)))
        << k;
}

TEST(SelectLargest, AgreesWithSorting) {
  std::vector<float> floats;
  std::vector<double> doubles;
  for (int i = 0; i < 700; ++i) {
    floats.push_back(static_cast<float>(irregular(i, 1, 0)));
    doubles.push_back(irregular(i, 2, 0) * (i % 5 == 0 ? 1e-300 : 1.0));
  }
  expect_largest(floats);
  expect_largest(doubles);
}

TEST(SelectLargest, OfEqualOnesTheFirst) {
  expect_largest<float>({1, -1, 0, 1, 2, -2, 1, 0, 0, -0.0f, 2});
  expect_largest<double>(std::vector<double>(50, 0.0));
}

TEST(SelectLargest, NanComesFirst) {
  const std::vector<float> values{1.0f, std::numeric_limits<float>::infinity(), std::nanf(""), 3.0f};
  EXPECT_EQ(select_largest(values.data(), 4, 1), (std::vector<std::int32_t>{2}));
  EXPECT_EQ(select_largest(values.data(), 4, 2), (std::vector<std::int32_t>{1, 2}));
}

DistributedOptions top_k(double ratio) {
  return {.buckets = kExchangeBuckets, .compression = compression::TopK{ratio}};
}

// What all ranks together would do, one after the other: parameter by parameter, by sorting.
class TopKOracle {
 public:
  TopKOracle(int ranks, const ParameterArena& arena, double ratio)
      : arena_(arena),
        ratio_(ratio),
        left_(static_cast<std::size_t>(ranks),
              std::vector<double>(static_cast<std::size_t>(arena.trainable_size()))) {}

  std::vector<double> step(int number, double scale) {
    std::vector<double> sum(left_.front().size(), 0.0);
    for (std::size_t r = 0; r < left_.size(); ++r) {
      for (const Segment& segment : arena_.segments()) {
        std::vector<double> values;
        for (std::int64_t i = segment.offset; i < segment.offset + segment.count; ++i)
          values.push_back(left_[r][static_cast<std::size_t>(i)] * scale +
                           irregular(i, static_cast<int>(r), number));
        const auto k = static_cast<std::size_t>(std::ceil(ratio_ * static_cast<double>(segment.count)));
        const auto begin = static_cast<std::size_t>(segment.offset);
        for (const std::int32_t place : largest_by_sorting(values, k)) {
          sum[begin + static_cast<std::size_t>(place)] += values[static_cast<std::size_t>(place)];
          values[static_cast<std::size_t>(place)] = 0.0;
        }
        std::copy(values.begin(), values.end(), left_[r].begin() + segment.offset);
      }
    }
    return sum;
  }

 private:
  const ParameterArena& arena_;
  double ratio_;
  std::vector<std::vector<double>> left_;
};

void expect_near_all(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-12) << i;
}

TEST(TopKExchange, SendsTheLargestAndTheRestLater) {
  for (const int ranks : {2, 3, 4, 8}) {
    run_ranks(ranks, [&](Communicator& world) {
      ExchangeRank rank(world, top_k(0.1));
      TopKOracle oracle(ranks, rank.arena(), 0.1);
      for (int step = 0; step < 5; ++step) {
        const std::vector<double> result =
            rank.run([&](std::int64_t i) { return irregular(i, world.rank(), step); });
        expect_same_on_all(world, result);
        expect_near_all(result, oracle.step(step, 1.0));
      }
    });
  }
}

TEST(TopKExchange, AllOfThemAreTheSum) {
  run_ranks(3, [](Communicator& world) {
    ExchangeRank rank(world, top_k(1.0));
    ExchangeRank plain(world, {.buckets = kExchangeBuckets});
    const auto values = [&](std::int64_t i) { return irregular(i, world.rank(), 0); };
    expect_near_all(rank.run(values), plain.run(values));
  });
}

// Gradients are sums over samples: what is left of a batch of 30 weighs a third in a batch of 10.
TEST(TopKExchange, LeftoversKeepTheirWeightInABatchOfAnotherSize) {
  run_ranks(2, [](Communicator& world) {
    ExchangeRank rank(world, top_k(0.1));
    TopKOracle oracle(2, rank.arena(), 0.1);
    const std::vector<double> totals{30.0, 10.0, 30.0, 30.0};
    for (int step = 0; step < 4; ++step) {
      const double total = totals[static_cast<std::size_t>(step)];
      rank.exchange().expect({.total_samples = total});
      const std::vector<double> result =
          rank.run([&](std::int64_t i) { return irregular(i, world.rank(), step); });
      rank.exchange().end_step(total);
      const double before = step == 0 ? total : totals[static_cast<std::size_t>(step - 1)];
      expect_near_all(result, oracle.step(step, total / before));
    }
  });
}

TEST(TopKExchange, ResetForgets) {
  run_ranks(2, [](Communicator& world) {
    ExchangeRank rank(world, top_k(0.1));
    const auto values = [&](std::int64_t i) { return irregular(i, world.rank(), 0); };
    const std::vector<double> first = rank.run(values);
    rank.exchange().reset();
    EXPECT_EQ(rank.run(values), first);
    EXPECT_NE(rank.run(values), first);
  });
}

TEST(TopKExchange, ANanIsNoticed) {
  run_ranks(2, [](Communicator& world) {
    ExchangeRank rank(world, top_k(0.01));
    const std::vector<double> result =
        rank.run([&](std::int64_t i) { return i == 5 && world.rank() == 1 ? std::nan("") : 1.0; });
    EXPECT_TRUE(std::isnan(result[5]));
  });
}

TEST(TopKExchange, SendsPlacesAndValues) {
  run_ranks(4, [](Communicator& world) {
    ExchangeRank rank(world, top_k(0.1), DType::f32);
    rank.run([](std::int64_t i) { return static_cast<double>(i); });
    std::int64_t kept = 0;
    for (const Segment& segment : rank.arena().segments())
      kept += static_cast<std::int64_t>(std::ceil(0.1 * static_cast<double>(segment.count)));
    const std::int64_t extras = 2 * 3 * ParameterArena::kExtras * 4 / 4;
    EXPECT_EQ(rank.exchange().bytes_sent(), 3 * kept * 8 + extras);
  });
}

}  // namespace
}  // namespace ronde::test
