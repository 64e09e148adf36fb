#include <ronde/models/early_stopping.h>

#include <gtest/gtest.h>

#include <ronde/models/lambda_callback.h>

#include "models/testing.h"

namespace ronde::testing {
namespace {

struct Outcome {
  std::size_t epochs = 0;
  std::string text;
  std::vector<std::string> hashes;  ///< of the weights after each epoch
  std::string last_hash;
};

/// Up to values.size() epochs in which val_loss is values[epoch].
Outcome run(EarlyStoppingOptions options, const std::vector<double>& values,
            const std::string& key = "val_loss") {
  Model model = small_model();
  const InMemoryDataset data = small_images(8);
  Outcome outcome;
  LambdaCallback script({.on_epoch_end = [&](std::int64_t epoch, Logs& logs) {
    logs.set(key, values[static_cast<std::size_t>(epoch)]);
    outcome.hashes.push_back(model.weights_sha256());
  }});
  EarlyStopping stop(std::move(options));
  outcome.text = printed([&] {
    outcome.epochs = model
                         .fit(data, {.epochs = static_cast<std::int64_t>(values.size()),
                                     .validation = &data,
                                     .callbacks = {&script, &stop},
                                     .verbose = 0})
                         .epochs.size();
  });
  outcome.last_hash = model.weights_sha256();
  return outcome;
}

TEST(EarlyStopping, WaitsForPatience) {
  EXPECT_EQ(run({}, {3, 2, 2, 1}).epochs, 3u);
  EXPECT_EQ(run({.patience = 2}, {3, 2, 2.5, 2.5, 1}).epochs, 4u);
  EXPECT_EQ(run({.patience = 2}, {3, 2, 2.5, 1, 2, 0}).epochs, 6u) << "an improvement starts patience anew";
}

TEST(EarlyStopping, NeverStopsAfterTheFirstEpoch) {
  EXPECT_EQ(run({.baseline = 0.5}, {3, 2, 1, 0.9}).epochs, 4u);
}

TEST(EarlyStopping, ImprovementIsMoreThanMinDelta) {
  EXPECT_EQ(run({.min_delta = 0.5}, {3, 2.6, 2}).epochs, 2u);
  EXPECT_EQ(run({.min_delta = 0.5}, {3, 2.4, 1.8}).epochs, 3u);
}

TEST(EarlyStopping, AccuracyGrows) {
  EXPECT_EQ(run({.monitor = "val_accuracy"}, {0.1, 0.2, 0.15, 0.3}, "val_accuracy").epochs, 3u);
  EXPECT_EQ(
      run({.monitor = "val_accuracy", .mode = MonitorMode::min}, {0.3, 0.2, 0.25}, "val_accuracy").epochs,
      3u);
}

TEST(EarlyStopping, LooksFromAnEpochOn) {
  EXPECT_EQ(run({.start_from_epoch = 2}, {1, 2, 3, 4, 5}).epochs, 4u);
}

TEST(EarlyStopping, RestoresTheBestWeightsAndSaysSo) {
  const Outcome outcome = run({.patience = 2, .verbose = 1, .restore_best_weights = true}, {3, 1, 2, 2, 0});
  EXPECT_EQ(outcome.epochs, 4u);
  EXPECT_EQ(outcome.last_hash, outcome.hashes[1]);
  EXPECT_NE(outcome.last_hash, outcome.hashes[3]);
  EXPECT_EQ(outcome.text,
            "Restoring model weights from the end of the best epoch: 2.\nEpoch 4: early stopping\n");
}

TEST(EarlyStopping, UnknownKeyListsWhatThereIs) {
  EXPECT_EQ(message_of<UsageError>([] { run({.monitor = "precision"}, {1}); }),
            "[early_stopping] monitors precision, but there is only loss, accuracy, val_loss, val_accuracy");
}

}  // namespace
}  // namespace ronde::testing
