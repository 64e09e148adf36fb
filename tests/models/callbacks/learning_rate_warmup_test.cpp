#include <ronde/models/learning_rate_warmup.h>

#include <gtest/gtest.h>

#include <ronde/core/ops.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/nn/regression_loss.h>

#include "models/testing.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

TEST(LearningRateWarmup, FollowsHorovodsFormula) {
  const InMemoryDataset data = small_images(16);
  const std::string text = printed([&] {
    test::run_ranks(4, [&](Communicator& world) {
      Model model(small_net(), {6, 6, 1}, {.communicator = &world});
      model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.4}),
                     .loss = std::make_unique<CategoricalCrossentropy>()});
      LearningRateWarmup warmup({.warmup_epochs = 2, .verbose = 1});
      std::vector<double> rates;
      LambdaCallback spy({.on_train_batch_begin = [&](std::int64_t) {
        rates.push_back(model.optimizer().learning_rate());
      }});
      // 2 steps an epoch.
      const History history =
          model.fit(data, {.global_batch_size = 8, .epochs = 3, .callbacks = {&warmup, &spy}, .verbose = 0});
      // 0.4 / 4 * (e * 3 / 2 + 1) for e = 0.5, 1, 1.5, 2
      const std::vector<double> expected{0.175, 0.25, 0.325, 0.4, 0.4, 0.4};
      ASSERT_EQ(rates.size(), expected.size());
      for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expected[i], 1e-12) << i;
      EXPECT_NEAR(history.values.at("learning_rate")[0], 0.25, 1e-12);
    });
  });
  EXPECT_EQ(text, "\nEpoch 2: finished gradual learning rate warmup to 0.4.\n");
}

TEST(LearningRateWarmup, CorrectsMomentum) {
  // v = m * (new / old) * v - new * g, against the same by hand: one weight, constant gradient.
  const auto velocity_after = [](bool correct) {
    double velocity = 0.0;
    test::run_ranks(2, [&](Communicator& world) {
      Model model(std::make_unique<Sequential>(Dense({.units = 1, .use_bias = false})), {1},
                  {.communicator = &world, .dtype = DType::f64, .backend = &backend("cpu")});
      model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.5}),
                     .loss = std::make_unique<MeanSquaredError>(),
                     .metrics = {}});
      LearningRateWarmup warmup({.warmup_epochs = 1, .momentum_correction = correct});
      const InMemoryDataset data(Tensor::from<double>({4, 1}, {1, 1, 1, 1}),
                                 Tensor::from<double>({4, 1}, {9, 9, 9, 9}));
      model.arena().values().fill(0.0);
      model.fit(data, {.global_batch_size = 2, .epochs = 1, .callbacks = {&warmup}, .verbose = 0});
      if (world.rank() == 0) velocity = model.optimizer().slots()[0].values.to_vector<double>()[0];
    });
    return velocity;
  };
  // Rates 0.075 and 0.1; gradient 2 (w - 9).
  const double v1 = 0.075 * 18, w1 = v1;
  const double g2 = 2 * (w1 - 9);
  EXPECT_NEAR(velocity_after(true), 0.5 * (0.1 / 0.075) * v1 - 0.1 * g2, 1e-12);
  EXPECT_NEAR(velocity_after(false), 0.5 * v1 - 0.1 * g2, 1e-12);
}

/// Its gradient is 1, wherever the weight is.
class OutputAsLoss : public Loss {
 public:
  std::string name() const override { return "output"; }
  Variable operator()(const Variable& output, const Tensor&) const override {
    return reshape(output, {output.shape()[0]});
  }
};

TEST(LearningRateWarmup, CorrectsMomentumOverAllBatchesOfAnUpdate) {
  // v = m * (rate / rate of the update before) * v - rate, so v = -rate * (1 + m + m^2 + ...).
  const std::int64_t batches = 8;
  for (const std::int64_t passes : {1, 2, 4}) {
    SCOPED_TRACE(passes);
    Model model(std::make_unique<Sequential>(Dense({.units = 1, .use_bias = false})), {1},
                {.dtype = DType::f64, .backend = &backend("cpu")});
    model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.8, .momentum = 0.5}),
                   .loss = std::make_unique<OutputAsLoss>(),
                   .metrics = {}});
    LearningRateWarmup warmup({.scale = 8, .warmup_epochs = 1, .momentum_correction = true});
    const InMemoryDataset data(Tensor::full({batches, 1}, 1.0), Tensor::full({batches, 1}, 0.0));
    model.fit(data, {.batch_size = 1,
                     .epochs = 1,
                     .backward_passes_per_step = passes,
                     .callbacks = {&warmup},
                     .verbose = 0});
    double sum = 0.0;
    for (std::int64_t update = 0; update < batches / passes; ++update) sum = 1.0 + 0.5 * sum;
    EXPECT_NEAR(model.optimizer().slots()[0].values.to_vector<double>()[0], -0.8 * sum, 1e-12);
  }
}

}  // namespace
}  // namespace ronde::test
