#include <gtest/gtest.h>
#include <ronde/core/philox.h>

#include "distributed/exchange/exchange_ranks.h"
#include "exchange/orthonormalize.h"
#include "support/matrix.h"

namespace ronde::test {
namespace {

void add_to(Matrix& a, const Matrix& b, double factor) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) a[i][j] += factor * b[i][j];
}

// Classical, by the book.
void gram_schmidt(Matrix& a) {
  for (std::size_t j = 0; j < a[0].size(); ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      double dot = 0.0;
      for (const auto& row : a) dot += row[j] * row[k];
      for (auto& row : a) row[j] -= dot * row[k];
    }
    double squares = 0.0;
    for (const auto& row : a) squares += row[j] * row[j];
    for (auto& row : a) row[j] /= std::sqrt(squares);
  }
}

// The paper's algorithm 2 for one parameter, all ranks in one place.
struct PowerSgdOracle {
  Segment segment;
  Matrix q;
  std::vector<Matrix> left;

  PowerSgdOracle(const Segment& of, int ranks, int rank) : segment(of) {
    const Tensor start =
        Tensor::zeros({of.shape[1], rank}, {.dtype = DType::f64, .backend = &backend("cpu")});
    fill_normal(start, hash_name(of.name));
    q = matrix_of(start);
    left.assign(static_cast<std::size_t>(ranks),
                Matrix(static_cast<std::size_t>(of.shape[0]),
                       std::vector<double>(static_cast<std::size_t>(of.shape[1]))));
  }
  Matrix step(int number) {
    Matrix p(left[0].size(), std::vector<double>(q[0].size()));
    for (std::size_t r = 0; r < left.size(); ++r) {
      std::int64_t i = segment.offset;
      for (auto& row : left[r])
        for (double& value : row) value += irregular(i++, static_cast<int>(r), number);
      add_to(p, product(left[r], q), 1.0);
    }
    gram_schmidt(p);
    Matrix sum(q.size(), std::vector<double>(q[0].size()));
    for (Matrix& m : left) {
      const Matrix own = product(transposed(m), p);
      add_to(sum, own, 1.0);
      add_to(m, product(p, transposed(own)), -1.0);
    }
    q = sum;
    return product(p, transposed(q));
  }
};

DistributedOptions power_sgd(int rank, std::int64_t start_step = 0) {
  return {.buckets = kExchangeBuckets, .compression = compression::PowerSgd{rank, start_step}};
}

TEST(PowerSgdExchange, IsThePapersAlgorithm) {
  for (const int ranks : {2, 3, 4, 8}) {
    run_ranks(ranks, [&](Communicator& world) {
      ExchangeRank rank(world, power_sgd(2));
      std::vector<PowerSgdOracle> oracles;
      for (const Segment& segment : rank.arena().segments())
        if (segment.shape.rank() == 2) oracles.emplace_back(segment, ranks, 2);
      ASSERT_EQ(oracles.size(), 2u);
      for (int step = 0; step < 4; ++step) {
        const std::vector<double> result =
            rank.run([&](std::int64_t i) { return irregular(i, world.rank(), step); });
        expect_same_on_all(world, result);
        for (PowerSgdOracle& oracle : oracles) {
          auto i = static_cast<std::size_t>(oracle.segment.offset);
          for (const auto& row : oracle.step(step))
            for (const double expected : row) ASSERT_NEAR(result[i++], expected, 1e-8) << "step " << step;
        }
      }
    });
  }
}

TEST(PowerSgdExchange, VectorsAndEarlyStepsAreExact) {
  run_ranks(3, [](Communicator& world) {
    ExchangeRank rank(world, power_sgd(1, 2));
    ExchangeRank plain(world, {.buckets = kExchangeBuckets});
    for (int step = 0; step < 4; ++step) {
      rank.exchange().expect({.updates = step});
      const auto values = [&](std::int64_t i) { return irregular(i, world.rank(), step); };
      const std::vector<double> result = rank.run(values), expected = plain.run(values);
      bool all_equal = true;
      for (const Segment& segment : rank.arena().segments()) {
        for (std::int64_t i = segment.offset; i < segment.offset + segment.count; ++i) {
          const double difference =
              std::abs(result[static_cast<std::size_t>(i)] - expected[static_cast<std::size_t>(i)]);
          all_equal = all_equal && difference < 1e-12;
          ASSERT_TRUE(segment.shape.rank() > 1 || difference < 1e-12) << "step " << step;
        }
      }
      EXPECT_EQ(all_equal, step < 2);
    }
  });
}

// Of rank one, and the same directions on all ranks: two columns are more than enough.
TEST(PowerSgdExchange, WhatIsOfLowRankIsExact) {
  run_ranks(4, [](Communicator& world) {
    ExchangeRank rank(world, power_sgd(2), DType::f32);
    for (int step = 0; step < 2; ++step) {
      std::vector<double> expected(static_cast<std::size_t>(rank.arena().trainable_size()));
      const auto value = [&](std::int64_t i, int r) {
        for (const Segment& segment : rank.arena().segments()) {
          const std::int64_t place = i - segment.offset;
          if (place < 0 || place >= segment.count || segment.shape.rank() == 1) continue;
          return (r + 1.0) * static_cast<double>(place / segment.shape[1] + 1) *
                 static_cast<double>(place % segment.shape[1] - 3);
        }
        return 0.0;
      };
      const std::vector<double> result = rank.run([&](std::int64_t i) { return value(i, world.rank()); });
      for (std::size_t i = 0; i < result.size(); ++i)
        ASSERT_NEAR(result[i], 10.0 * value(static_cast<std::int64_t>(i), 0), 2e-3) << i;
    }
  });
}

TEST(PowerSgdExchange, NoGradientsAreNoGradients) {
  run_ranks(2, [](Communicator& world) {
    ExchangeRank rank(world, power_sgd(2));
    for (int step = 0; step < 2; ++step)
      for (const double value : rank.run([](std::int64_t) { return 0.0; })) ASSERT_EQ(value, 0.0);
    // And the directions are still good for what comes later.
    double largest = 0.0;
    for (const double value : rank.run([](std::int64_t) { return 1.0; })) largest = std::max(largest, value);
    EXPECT_NEAR(largest, 2.0, 1e-9);
  });
}

TEST(PowerSgdExchange, SendsTheFactors) {
  run_ranks(2, [](Communicator& world) {
    ExchangeRank rank(world, power_sgd(2), DType::f32);
    rank.run([](std::int64_t) { return 1.0; });
    // (10, 12) and (12, 9) in two factors, a bias of 12 as it is, and one of 9 that is a whole
    // bucket with its padding.
    const std::int64_t elements = 2 * (10 + 12) + 2 * (12 + 9) + 12 + 16;
    EXPECT_EQ(rank.exchange().bytes_sent(), (elements + ParameterArena::kExtras) * 4);
  });
}

TEST(Orthonormalize, ColumnsAreOrthonormalAlsoWhenTheyWereDependent) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor matrix = Tensor::zeros({20, 4}, {.dtype = dtype, .backend = &backend("cpu")});
    std::vector<double> values;
    for (int i = 0; i < 20; ++i)
      for (int j = 0; j < 4; ++j)
        values.push_back(j == 2 ? 3.0 * std::sin(i) : j == 3 ? 0.0 : std::sin(i * (j + 1)));
    matrix.copy_from(Tensor::from<double>({20, 4}, values, &backend("cpu")));
    orthonormalize(matrix, 7);
    const Matrix a = matrix_of(matrix), gram = product(transposed(a), a);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        EXPECT_NEAR(gram[i][j], i == j ? 1.0 : 0.0, dtype == DType::f32 ? 1e-6 : 1e-14);
  }
}

// One projection leaves of these what rounding put back, some 1e-16 / 1e-5.
TEST(Orthonormalize, ColumnsAreOrthonormalAlsoWhenTheyWereNearlyDependent) {
  std::vector<double> values;
  for (int i = 0; i < 20; ++i)
    values.insert(values.end(), {std::sin(i), std::sin(i) + 1e-5 * std::cos(7 * i)});
  const Tensor matrix = Tensor::from<double>({20, 2}, values, &backend("cpu"));
  orthonormalize(matrix, 7);
  const Matrix a = matrix_of(matrix), gram = product(transposed(a), a);
  EXPECT_NEAR(gram[0][1], 0.0, 1e-14);
  EXPECT_NEAR(gram[1][1], 1.0, 1e-14);
}

// Else a gradient that is no number would become noise of no name, and the training would go on with it.
TEST(Orthonormalize, WhatIsNoNumberStaysNone) {
  const Tensor matrix = Tensor::full({4, 1}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  matrix.view(2, {1}).fill(std::nan(""));
  orthonormalize(matrix, 7);
  for (const double value : matrix.to_vector<double>()) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace ronde::test
