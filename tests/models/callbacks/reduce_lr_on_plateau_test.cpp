#include <ronde/models/reduce_lr_on_plateau.h>

#include <gtest/gtest.h>

#include "models/callbacks/keras_callbacks.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

// What it does with sequences of values is compared with Keras in keras_callbacks_test.cpp.

TEST(ReduceLROnPlateau, RefusesWhatMakesNoSense) {
  EXPECT_EQ(message_of<UsageError>([] { ReduceLROnPlateau({.factor = 1.0}); }),
            "[reduce_lr_on_plateau] does not support a factor >= 1.0, got 1");
  ReduceLROnPlateau reduce;
  Model model = small_model();
  EXPECT_EQ(
      message_of<UsageError>([&] { model.fit(small_images(8), {.callbacks = {&reduce}, .verbose = 0}); }),
      "[reduce_lr_on_plateau] monitors val_loss, but fit has no validation data");
}

TEST(ReduceLROnPlateau, AllRanksReduceAtTheSameEpochAndOneSpeaks) {
  const InMemoryDataset data = small_images(12), validation = small_images(5, 1);
  std::vector<std::vector<double>> rates(3);
  const std::string text = printed([&] {
    test::run_ranks(3, [&](Communicator& world) {
      // Nothing improves by as much as that after the first epoch.
      ReduceLROnPlateau reduce({.factor = 0.5, .patience = 2, .verbose = 1, .min_delta = 100});
      Model model = small_model({.communicator = &world});
      const History history = model.fit(
          data,
          {.batch_size = 2, .epochs = 6, .validation = &validation, .callbacks = {&reduce}, .verbose = 0});
      rates[static_cast<std::size_t>(world.rank())] = history.values.at("learning_rate");
    });
  });
  EXPECT_EQ(rates[0], (std::vector<double>{0.01, 0.01, 0.01, 0.005, 0.005, 0.0025}));
  EXPECT_EQ(rates[1], rates[0]);
  EXPECT_EQ(rates[2], rates[0]);
  EXPECT_EQ(text,
            "\nEpoch 3: ReduceLROnPlateau reducing learning rate to 0.005.\n"
            "\nEpoch 5: ReduceLROnPlateau reducing learning rate to 0.0025.\n");
}

}  // namespace
}  // namespace ronde::test
