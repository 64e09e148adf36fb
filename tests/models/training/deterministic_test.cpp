#include "models/training/deterministic_test.h"

#include <gtest/gtest.h>

#include <ronde/core/thread_pool.h>
#include <ronde/distributed/self_communicator.h>
#include <ronde/nn/regression_loss.h>

#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

/// Of `ranks` ranks, which must all have the same.
Outcome outcome_of(int ranks, const FitOptions& options = {}, const ModelOptions& model_options = {},
                   const std::string& file = {}, const std::string& save_to = {}) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  test::run_ranks(ranks, [&](Communicator& communicator) {
    outcomes[static_cast<std::size_t>(communicator.rank())] =
        train_deterministically(&communicator, options, model_options, file, save_to);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome, outcomes.front());
  return outcomes.front();
}

TEST(Deterministic, GivesTheSameBitsOnAnyNumberOfRanks) {
  const Outcome alone = outcome_of(1);
  EXPECT_EQ(alone.history.at("loss").size(), 3u);
  for (const int ranks : {2, 3, 4, 8, 16}) EXPECT_EQ(outcome_of(ranks), alone) << ranks << " ranks";
}

TEST(Deterministic, OnTheReferenceBackendAndInDoubleToo) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const ModelOptions model{.dtype = dtype, .backend = &backend("cpu")};
    const Outcome alone = outcome_of(1, {}, model);
    EXPECT_EQ(outcome_of(3, {}, model), alone);
  }
}

TEST(Deterministic, InMixedPrecisionToo) {
  const ModelOptions model{.compute_dtype = DType::bf16};
  const Outcome alone = outcome_of(1, {}, model);
  EXPECT_EQ(outcome_of(3, {}, model), alone);
  EXPECT_NE(outcome_of(1), alone);
}

TEST(Deterministic, WithFewerSamplesThanShards) {
  const FitOptions options{.global_batch_size = 9};  // 8 in the last step of an epoch: 70 = 7 * 9 + 7
  const Outcome alone = outcome_of(1, options);
  for (const int ranks : {2, 5, 16}) EXPECT_EQ(outcome_of(ranks, options), alone) << ranks << " ranks";
}

TEST(Deterministic, WithAnyNumberOfShards) {
  for (const int shards : {1, 3, 6}) {
    const FitOptions options{.virtual_shards = shards};
    EXPECT_EQ(outcome_of(std::min(shards, 4), options), outcome_of(1, options)) << shards << " shards";
  }
}

TEST(Deterministic, OnAnyNumberOfThreads) {
  ThreadPool& pool = default_backend().threads();
  const int before = pool.size();
  pool.resize(1);
  const Outcome one = outcome_of(1);
  for (const int threads : {2, 3, 9}) {
    pool.resize(threads);
    EXPECT_EQ(outcome_of(1), one) << threads << " threads";
  }
  pool.resize(before);
}

TEST(Deterministic, WithAnyMicroBatch) {
  EXPECT_EQ(outcome_of(2, {.micro_batch = 1}), outcome_of(2));
  EXPECT_EQ(outcome_of(1, {.micro_batch = 7}), outcome_of(2));
}

TEST(Deterministic, GoesOnWithAnotherNumberOfRanks) {
  const TempDir dir;
  const std::string file = dir / "run.h5";
  const Outcome whole = outcome_of(1);
  outcome_of(3, {.max_steps = 3}, {}, "", file);  // stops within the second epoch
  EXPECT_EQ(outcome_of(2, {}, {}, file), whole);
}

/// A net without statistics: what is computed is what the ordinary mode computes, in another order.
TEST(Deterministic, ComputesWhatTheOrdinaryModeDoes) {
  const InMemoryDataset data = small_images(50);
  std::vector<std::vector<double>> weights;
  for (const bool deterministic : {false, true}) {
    Model model = small_model({.seed = 1});
    model.fit(data, {.batch_size = 20, .epochs = 2, .deterministic = deterministic, .verbose = 0});
    weights.push_back(model.arena().values().to_vector<double>());
  }
  for (std::size_t i = 0; i < weights[0].size(); ++i) EXPECT_NEAR(weights[0][i], weights[1][i], 1e-5);
}

/// The moving mean is the mean of what the shards make of it: 0.99 before + 0.01 batch mean.
TEST(Deterministic, AveragesMovingStatisticsOverShards) {
  std::vector<double> inputs{1, 2, 3, 5, 8, 13};
  const InMemoryDataset data(Tensor::from<double>({6, 1}, inputs),
                             Tensor::from<double>({6, 1}, std::vector<double>(6, 0.0)));
  Model model(std::make_unique<Sequential>(BatchNormalization(), Dense({.units = 1})), {1},
              {.dtype = DType::f64});
  model.compile({.optimizer = std::make_unique<SGD>(), .loss = std::make_unique<MeanSquaredError>()});
  model.fit(data,
            {.batch_size = 6, .shuffle = false, .deterministic = true, .virtual_shards = 3, .verbose = 0});
  // Shards {1, 5}, {2, 8}, {3, 13}: means 3, 5, 8, biased variances 4, 9, 25.
  const auto statistics = model.arena().buffers().to_vector<double>();
  const auto& segments = model.arena().buffer_segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool is_mean = segments[i].name.find("moving_mean") != std::string::npos;
    const double expected = is_mean ? 0.01 * 16.0 / 3 : 0.99 + 0.01 * 38.0 / 3;
    EXPECT_NEAR(statistics[static_cast<std::size_t>(segments[i].offset)], expected, 1e-12)
        << segments[i].name;
  }
}

TEST(Deterministic, LeavesTheModelAsTheOrdinaryModeWantsIt) {
  const InMemoryDataset data = small_images(50);
  test::run_ranks(2, [&](Communicator& world) {
    Model model = small_model({.communicator = &world, .seed = 1});
    const void* gradients = model.arena().gradients().raw();
    model.fit(data, {.batch_size = 10, .deterministic = true, .verbose = 0});
    EXPECT_EQ(model.arena().gradients().raw(), gradients);
    const History history = model.fit(data, {.batch_size = 10, .verbose = 0});
    EXPECT_EQ(history.values.at("loss").size(), 1u);
  });
}

TEST(Deterministic, RejectsMoreRanksThanShards) {
  test::run_ranks(3, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    EXPECT_THROW(model.fit(small_images(9), {.deterministic = true, .virtual_shards = 2, .verbose = 0}),
                 UsageError);
  });
}

}  // namespace
}  // namespace ronde::test
