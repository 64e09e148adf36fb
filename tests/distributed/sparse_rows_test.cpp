#include "exchange/sparse_rows.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/philox.h>
#include <ronde/distributed/distributed_optimizer.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/global_average_pooling1d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kTableRows = 200, kWidth = 3;

/// Rank r's gradient: `used` rows of its own choice, which other ranks may have chosen too.
std::vector<double> gradient_of(int rank, int used) {
  std::vector<double> values(kTableRows * kWidth, 0.0);
  for (int i = 0; i < used; ++i) {
    const auto bits = philox(7, {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(i), 0, 0});
    const std::int64_t row = i == 0 ? 11 : bits[0] % kTableRows;  // everybody uses row 11
    for (std::int64_t k = 0; k < kWidth; ++k)
      values[static_cast<std::size_t>(row * kWidth + k)] =
          static_cast<float>(uniform_double(bits[1], bits[2]) - 0.5 * static_cast<double>(k));
  }
  return values;
}

struct Summed {
  std::vector<double> values;
  std::int64_t bytes = 0;
};

/// On `ranks` ranks, of which number r has used[r % used.size()] rows.
Summed sum_over(int ranks, const std::vector<int>& used, DType dtype) {
  std::vector<Summed> results(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](Communicator& world) {
    const auto r = static_cast<std::size_t>(world.rank());
    const Tensor table =
        Tensor::from<double>({kTableRows, kWidth}, gradient_of(world.rank(), used[r % used.size()]))
            .to(dtype);
    std::atomic<std::int64_t> bytes = 0;
    Wire wire(world, bytes);
    sum_sparse_rows(table, wire);
    results[r].bytes = bytes;
    results[r].values = table.to_vector<double>();
  });
  for (const Summed& result : results) EXPECT_EQ(result.values, results[0].values) << "ranks differ";
  return results[0];
}

void expect_sum(const Summed& actual, int ranks, const std::vector<int>& used, double tolerance) {
  std::vector<double> expected(kTableRows * kWidth, 0.0);
  for (int r = 0; r < ranks; ++r) {
    const std::vector<double> own = gradient_of(r, used[static_cast<std::size_t>(r) % used.size()]);
    for (std::size_t i = 0; i < own.size(); ++i) expected[i] += own[i];
  }
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual.values[i], expected[i], tolerance);
}

TEST(SparseRows, AreSummedOverAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5, 8})
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(cat(ranks, " ranks, ", dtype));
      const std::vector<int> used{4, 0, 9};
      expect_sum(sum_over(ranks, used, dtype), ranks, used, dtype == DType::f32 ? 1e-5 : 1e-14);
    }
}

TEST(SparseRows, TravelWholeWhenTheyAreMany) {
  const std::int64_t table_bytes = kTableRows * kWidth * 8;
  const Summed few = sum_over(4, {5}, DType::f64), many = sum_over(4, {150, 150, 190, 0}, DType::f64);
  expect_sum(few, 4, {5}, 1e-14);
  expect_sum(many, 4, {150, 150, 190, 0}, 1e-13);
  EXPECT_LT(few.bytes, table_bytes / 4);
  EXPECT_GE(many.bytes, 2 * table_bytes * 3 / 4);
}

TEST(SparseRows, NoneAtAll) {
  expect_sum(sum_over(3, {0}, DType::f32), 3, {0}, 0.0);
}

TEST(SparseRows, KeepNaNs) {
  run_ranks(2, [](Communicator& world) {
    const Tensor table = Tensor::zeros({kTableRows, kWidth});
    if (world.rank() == 1) table.slice(0, 5, 6).fill(std::numeric_limits<double>::quiet_NaN());
    std::atomic<std::int64_t> bytes = 0;
    Wire wire(world, bytes);
    sum_sparse_rows(table, wire);
    const std::vector<double> values = table.to_vector<double>();
    EXPECT_TRUE(std::isnan(values[5 * kWidth]));
    EXPECT_EQ(values[4 * kWidth], 0.0);
  });
}

TEST(SparseRows, GetTheSameZeroOnAllRanks) {
  run_ranks(2, [](Communicator& world) {
    const Tensor table = Tensor::zeros({kTableRows, kWidth});
    if (world.rank() == 1) table.slice(0, 5, 6).fill(-0.0);
    std::atomic<std::int64_t> bytes = 0;
    Wire wire(world, bytes);
    sum_sparse_rows(table, wire);
    EXPECT_FALSE(std::signbit(table.to_vector<double>()[5 * kWidth]));
  });
}

/// A text net; sample i has four words of `kTableRows`.
struct TextNet {
  Sequential net{Embedding({.input_dim = kTableRows, .output_dim = kWidth}), GlobalAveragePooling1D(),
                 Dense({.units = 2})};
  ParameterArena arena;

  explicit TextNet(std::uint64_t seed) : arena(built(net, seed)) {}
  static Module& built(Sequential& net, std::uint64_t seed) {
    net.build({4}, {.seed = seed, .dtype = DType::f64, .backend = &backend("cpu")});
    return net;
  }
  Variable loss(std::int64_t begin, std::int64_t end) {
    std::vector<double> words, targets;
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t k = 0; k < 4; ++k) words.push_back(static_cast<double>((i * 7 + k * k * 5) % 40));
      for (const double f : {0.9, 0.4}) targets.push_back(std::sin(f * static_cast<double>(i)));
    }
    Backend* cpu = &backend("cpu");
    return sum(squared_error(net(Tensor::from<double>({end - begin, 4}, words, cpu)),
                             Tensor::from<double>({end - begin, 2}, targets, cpu)));
  }
};

TEST(SparseRows, AnEmbeddingTrainsAsOnOneRank) {
  constexpr std::int64_t kBatch = 9;
  constexpr int kSteps = 4;
  TextNet alone(1);
  SGD sgd({.learning_rate = 0.5, .momentum = 0.9});
  sgd.attach(alone.arena);
  for (int s = 0; s < kSteps; ++s) {
    alone.arena.zero_gradients();
    alone.loss(s * kBatch, (s + 1) * kBatch).backward();
    sgd.step(1.0 / kBatch);
  }
  const std::vector<double> expected = alone.arena.values().to_vector<double>();
  for (const int ranks : {1, 2, 4, 7}) {
    run_ranks(ranks, [&](Communicator& world) {
      TextNet own(static_cast<std::uint64_t>(1 + world.rank()));
      DistributedOptimizer optimizer(std::make_unique<SGD>(SGDOptions{.learning_rate = 0.5, .momentum = 0.9}),
                                     world);
      optimizer.attach(own.arena);
      for (int s = 0; s < kSteps; ++s) {
        const std::int64_t begin = kBatch * world.rank() / ranks, end = kBatch * (world.rank() + 1) / ranks;
        own.arena.zero_gradients();
        if (end - begin > 1) {
          const DistributedOptimizer::NoSync hold(optimizer);
          own.loss(s * kBatch + begin, s * kBatch + end - 1).backward();
        }
        if (end > begin) own.loss(s * kBatch + end - 1, s * kBatch + end).backward();
        optimizer.step({.samples = end - begin});
      }
      const std::vector<double> actual = own.arena.values().to_vector<double>();
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-13) << i;
    });
  }
}

TEST(SparseRows, ATableIsABucketOfItsOwn) {
  const TextNet text(1);
  const auto buckets = GradientBuckets::plan(text.arena, {});
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[1].last_segment - buckets[1].first_segment, 1u);
  EXPECT_TRUE(text.arena.segments()[buckets[1].first_segment].sparse);
  EXPECT_EQ(buckets[1].end, text.arena.size() + ParameterArena::kExtras);
}

}  // namespace
}  // namespace ronde::test
