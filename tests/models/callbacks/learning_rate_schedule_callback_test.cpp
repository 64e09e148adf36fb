#include <ronde/models/learning_rate_schedule_callback.h>

#include <gtest/gtest.h>

#include <ronde/models/lambda_callback.h>

#include "models/callbacks/keras_callbacks.h"

namespace ronde::test {
namespace {

using Rates = std::vector<double>;

/// The rate of each of 2 steps in each of 4 epochs, from 0.5.
Rates rates_with(LearningRateScheduleOptions options) {
  Model model = one_weight_model(0.5, 0.5);
  LearningRateScheduleCallback schedule(std::move(options));
  Rates rates;
  LambdaCallback spy(
      {.on_train_batch_begin = [&](std::int64_t) { rates.push_back(model.optimizer().learning_rate()); }});
  const Tensor ones = Tensor::full({4, 1}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  const History history =
      model.fit(InMemoryDataset(ones, ones),
                {.batch_size = 2, .epochs = 4, .callbacks = {&schedule, &spy}, .verbose = 0});
  EXPECT_EQ(history.values.at("learning_rate").size(), 4u);
  EXPECT_EQ(history.values.at("learning_rate").back(), rates.back());
  return rates;
}

// Right-hand sides follow from Horovod's documentation of its callback.
TEST(LearningRateScheduleCallback, MultipliesInStepsOfEpochs) {
  EXPECT_EQ(rates_with({.multiplier = 0.5}), (Rates{0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625, 0.0625}));
  EXPECT_EQ(rates_with({.initial_learning_rate = 4, .multiplier = 0.5, .start_epoch = 1, .end_epoch = 3}),
            (Rates{0.5, 0.5, 4, 4, 2, 2, 2, 2}));
}

TEST(LearningRateScheduleCallback, FollowsAFunctionPerEpochOrPerBatch) {
  const auto grow = [](double epoch) { return 1.0 + epoch; };
  EXPECT_EQ(rates_with({.function = grow}), (Rates{0.5, 0.5, 1, 1, 1.5, 1.5, 2, 2}));
  EXPECT_EQ(rates_with({.function = grow, .staircase = false}),
            (Rates{0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25}));
  EXPECT_THROW(LearningRateScheduleCallback({.staircase = false}), UsageError);
}

/// The velocity after two epochs of one step whose rates are 0.5 and 0.25.
double velocity_after(bool correct) {
  Model model = one_weight_model(0.5, 0.5);
  LearningRateScheduleCallback halve({.multiplier = 0.5, .momentum_correction = correct});
  const Tensor one = Tensor::from<double>({1, 1}, {1.0}, &backend("cpu"));
  const InMemoryDataset data(one, Tensor::from<double>({1, 1}, {9.0}, &backend("cpu")));
  model.arena().values().fill(0.0);
  model.fit(data, {.batch_size = 1, .epochs = 2, .callbacks = {&halve}, .verbose = 0});
  return model.optimizer().slots()[0].values.to_vector<double>()[0];
}

TEST(LearningRateScheduleCallback, CorrectsMomentumForOneStep) {
  const double v1 = 0.5 * 18;      // gradient 2 (w - 9) at w = 0
  const double g2 = 2 * (v1 - 9);  // w = v1
  EXPECT_NEAR(velocity_after(true), 0.5 * (0.25 / 0.5) * v1 - 0.25 * g2, 1e-12);
  EXPECT_NEAR(velocity_after(false), 0.5 * v1 - 0.25 * g2, 1e-12);
}

TEST(LearningRateScheduleCallback, RemembersTheRateItBeganWith) {
  Model model = one_weight_model(0.5);
  LearningRateScheduleCallback first({.multiplier = 0.5});
  CallbackScript script(model, 4);
  script.begin(first);
  const CallbackState state = first.state();
  model.optimizer().set_learning_rate(0.125);  // of the checkpoint
  LearningRateScheduleCallback resumed({.multiplier = 0.5});
  script.begin(resumed);
  resumed.restore(state);
  resumed.on_epoch_begin(3);
  resumed.on_train_batch_begin(0);
  EXPECT_EQ(model.optimizer().learning_rate(), 0.0625);
}

}  // namespace
}  // namespace ronde::test
