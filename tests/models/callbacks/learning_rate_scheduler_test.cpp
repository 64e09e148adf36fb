#include <ronde/models/learning_rate_scheduler.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <ronde/models/learning_rate_schedule_callback.h>
#include <ronde/models/learning_rate_warmup.h>
#include <ronde/models/reduce_lr_on_plateau.h>

#include "models/callbacks/keras_callbacks.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

TEST(LearningRateScheduler, RankZeroDecidesForAll) {
  test::run_ranks(3, [&](Communicator& world) {
    Model model = one_weight_model(0.5, 0.0, &world);
    LearningRateScheduler scheduler({.schedule = [&](std::int64_t epoch, double rate) {
      return rate + static_cast<double>(epoch) + 100.0 * world.rank();
    }});
    CallbackScript script(model, 2);
    script.begin(scheduler);
    script.epoch(0, {});
    script.epoch(1, {});
    EXPECT_EQ(script.rates_at_begin, (std::vector<double>{0.5, 1.5}));
  });
}

TEST(LearningRateScheduler, RefusesWhatIsNoRate) {
  Model model = one_weight_model(0.5);
  for (const double rate : {-0.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    LearningRateScheduler scheduler(
        {.schedule = [&](std::int64_t epoch, double) { return epoch ? rate : 0.0; }});
    CallbackScript script(model, 2);
    script.begin(scheduler);
    script.epoch(0, {});
    EXPECT_EQ(message_of<UsageError>([&] { script.epoch(1, {}); }),
              cat("[learning_rate_scheduler] the schedule gives ", rate,
                  " for epoch 1, where a finite number from 0 on was expected"));
  }
}

// Keras' `optimizer.learning_rate` is the schedule's, and that is what its callbacks log.
TEST(LearningRate, IsLoggedAsTheOptimizersScheduleHasIt) {
  Model model = one_weight_model(0.5);
  model.optimizer().set_schedule(std::make_shared<ExponentialDecay>(
      DecayOptions{.initial_rate = 1.0, .decay_steps = 2.0, .decay_rate = 0.5}));
  const Tensor ones = Tensor::full({4, 1}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  LearningRateScheduler scheduler({.schedule = [](std::int64_t, double rate) { return rate; }});
  ReduceLROnPlateau reduce({.monitor = "loss"});
  LearningRateScheduleCallback multiplied(LearningRateScheduleOptions{});
  LearningRateWarmup warmup;
  for (Callback* callback : std::vector<Callback*>{&scheduler, &reduce, &multiplied, &warmup}) {
    model.optimizer().set_iterations(0);
    const History history = model.fit(InMemoryDataset(ones, ones),
                                      {.batch_size = 2, .epochs = 3, .callbacks = {callback}, .verbose = 0});
    EXPECT_EQ(history.values.at("learning_rate"), (std::vector<double>{0.25, 0.125, 0.0625}));
  }
}

TEST(LearningRateScheduler, AnErrorInTheScheduleReachesAllRanks) {
  for (const auto& error : test::run_ranks_collecting(2, [&](Communicator& world) {
         Model model = one_weight_model(0.5, 0.0, &world);
         LearningRateScheduler scheduler(
             {.schedule = [](std::int64_t, double) -> double { throw UsageError("no such epoch"); }});
         CallbackScript script(model, 1);
         script.begin(scheduler);
         script.epoch(0, {});
       }))
    EXPECT_TRUE(error);
  EXPECT_THROW(LearningRateScheduler({}), UsageError);
}

TEST(LearningRateScheduler, IsNotAskedAgainWithinAnEpoch) {
  Model model = one_weight_model(0.5);
  LearningRateScheduler halve({.schedule = [](std::int64_t, double rate) { return rate / 2; }});
  CallbackScript script(model, 6);
  script.plan().initial_epoch = 4;
  script.plan().initial_step = 1;
  script.begin(halve);
  script.epoch(4, {});
  script.epoch(5, {});
  EXPECT_EQ(script.rates_at_begin, (std::vector<double>{0.5, 0.25}));
}

}  // namespace
}  // namespace ronde::test
