#include <ronde/models/model_checkpoint.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include <ronde/models/lambda_callback.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::testing {
namespace {

std::set<std::string> files_in(const TempDir& dir) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    names.insert(entry.path().filename());
  return names;
}

/// Trains `values.size()` epochs, with `key` of epoch i being values[i], and these callbacks.
void run_epochs(const std::string& key, const std::vector<double>& values, std::vector<Callback*> callbacks,
                Communicator* communicator = nullptr) {
  Model model = small_model({.communicator = communicator});
  const InMemoryDataset data = small_images(8);
  LambdaCallback script({.on_epoch_end = [&](std::int64_t epoch, Logs& logs) {
    logs.set(key, values[static_cast<std::size_t>(epoch)]);
  }});
  callbacks.insert(callbacks.begin(), &script);
  model.fit(data, {.batch_size = 4,
                   .epochs = static_cast<std::int64_t>(values.size()),
                   .validation = &data,
                   .callbacks = callbacks,
                   .verbose = 0});
}

TEST(ModelCheckpoint, SavesEveryEpochUnderItsPattern) {
  const TempDir dir;
  ModelCheckpoint checkpoint({.filepath = dir / "{epoch:02d}-{val_loss:.2f}.h5", .verbose = 1});
  const std::string text = printed([&] { run_epochs("val_loss", {0.456, 0.1}, {&checkpoint}); });
  EXPECT_EQ(files_in(dir), (std::set<std::string>{"01-0.46.h5", "02-0.10.h5"}));
  EXPECT_EQ(text, "\nEpoch 1: saving model to " + (dir / "01-0.46.h5") + "\n\nEpoch 2: saving model to " +
                      (dir / "02-0.10.h5") + "\n");
  EXPECT_EQ(checkpoint.last_path(), dir / "02-0.10.h5");
}

TEST(ModelCheckpoint, SavesOnlyTheBestAndSaysSo) {
  const TempDir dir;
  const std::string path = dir / "best.h5";
  ModelCheckpoint checkpoint({.filepath = path, .verbose = 1, .save_best_only = true});
  const std::string text = printed([&] {
    run_epochs("val_loss", {0.0512, 0.0431, 0.0431, 0.04}, {&checkpoint});
  });
  EXPECT_EQ(text, "\nEpoch 1: val_loss improved from inf to 0.05120, saving model to " + path +
                      "\n\nEpoch 2: val_loss improved from 0.05120 to 0.04310, saving model to " + path +
                      "\n\nEpoch 3: val_loss did not improve from 0.04310\n"
                      "\nEpoch 4: val_loss improved from 0.04310 to 0.04000, saving model to " +
                      path + "\n");
  EXPECT_EQ(checkpoint.best(), 0.04);
}

TEST(ModelCheckpoint, AccuracyIsBetterWhenLarger) {
  const TempDir dir;
  ModelCheckpoint checkpoint(
      {.filepath = dir / "{epoch}.h5", .monitor = "val_accuracy", .save_best_only = true});
  run_epochs("val_accuracy", {0.5, 0.4, 0.6}, {&checkpoint});
  EXPECT_EQ(files_in(dir), (std::set<std::string>{"1.h5", "3.h5"}));
}

TEST(ModelCheckpoint, ThresholdIsToBeBeatenFirst) {
  const TempDir dir;
  ModelCheckpoint checkpoint(
      {.filepath = dir / "{epoch}.h5", .save_best_only = true, .initial_value_threshold = 0.3});
  run_epochs("val_loss", {0.5, 0.3, 0.2}, {&checkpoint});
  EXPECT_EQ(files_in(dir), (std::set<std::string>{"3.h5"}));
}

TEST(ModelCheckpoint, SavesAfterStepsAcrossEpochsAndKeepsTheNewest) {
  const TempDir dir;
  ModelCheckpoint checkpoint({.filepath = dir / "{epoch}-{batch}.h5", .save_steps = 3, .keep = 2});
  Model model = small_model();
  // 4 steps an epoch: after steps 3, 6, 9 and 12.
  model.fit(small_images(16), {.batch_size = 4, .epochs = 3, .callbacks = {&checkpoint}, .verbose = 0});
  EXPECT_EQ(files_in(dir), (std::set<std::string>{"3-1.h5", "3-4.h5"}));
  EXPECT_EQ(Model::load(dir / "3-1.h5").progress().steps, 9);
}

TEST(ModelCheckpoint, WeightsOnly) {
  const TempDir dir;
  ModelCheckpoint checkpoint({.filepath = dir / "w.h5", .save_weights_only = true});
  run_epochs("val_loss", {0.5}, {&checkpoint});
  EXPECT_THROW(Model::load(dir / "w.h5"), Error);
}

TEST(ModelCheckpoint, OnlyRankZeroWritesAndSpeaks) {
  const TempDir dir;
  const std::string text = printed([&] {
    test::run_ranks(3, [&](Communicator& world) {
      // {accuracy} has this rank's value, so the ranks would use different names.
      const std::string name = cat("{epoch}-{accuracy:.1f}-{batch}-of-rank-", world.rank(), ".h5");
      ModelCheckpoint steps({.filepath = dir / name, .verbose = 1, .save_steps = 1});
      run_epochs("val_loss", {0.5}, {&steps}, &world);
      EXPECT_NE(steps.last_path().find("of-rank-0"), std::string::npos);
    });
  });
  ASSERT_EQ(files_in(dir).size(), 1u);
  EXPECT_NE(files_in(dir).begin()->find("-1-of-rank-0"), std::string::npos);
  EXPECT_EQ(text, "\nEpoch 1: saving model to " + (dir / *files_in(dir).begin()) + "\n");
}

TEST(ModelCheckpoint, WrongUsageIsSaidEarly) {
  EXPECT_THROW(ModelCheckpoint({}), UsageError);
  EXPECT_THROW(ModelCheckpoint({.filepath = "{epoch"}), UsageError);
  EXPECT_THROW(ModelCheckpoint({.filepath = "a.h5", .save_best_only = true, .save_steps = 5}), UsageError);
  ModelCheckpoint best({.filepath = "a.h5", .save_best_only = true});
  Model model = small_model();
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(small_images(8), {.callbacks = {&best}, .verbose = 0}); }),
            "[model_checkpoint] monitors val_loss, but fit has no validation data");
  EXPECT_EQ(model.progress().steps, 0);
}

}  // namespace
}  // namespace ronde::testing
