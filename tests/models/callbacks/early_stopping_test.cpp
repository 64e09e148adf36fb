#include <ronde/models/early_stopping.h>

#include <gtest/gtest.h>

#include <limits>

#include <ronde/models/lambda_callback.h>

#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
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
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run({}, {nan, 2, 1, 3, 0}).epochs, 4u);
  EXPECT_EQ(run({}, {nan, nan, 1}).epochs, 2u);
}

TEST(EarlyStopping, ImprovementIsMoreThanMinDelta) {
  EXPECT_EQ(run({.min_delta = 0.5}, {3, 2.6, 2}).epochs, 2u);
  EXPECT_EQ(run({.min_delta = 0.5}, {3, 2.4, 1.8}).epochs, 3u);
  const EarlyStoppingOptions larger{.monitor = "val_accuracy", .min_delta = 0.1};
  EXPECT_EQ(run(larger, {0.1, 0.15, 0.3}, "val_accuracy").epochs, 2u);
  EXPECT_EQ(run(larger, {0.1, 0.25, 0.5}, "val_accuracy").epochs, 3u);
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
            "Epoch 4: early stopping\nRestoring model weights from the end of the best epoch: 2.\n");
}

TEST(EarlyStopping, RestoresTheBestWeightsOfARunThatUsedAllItsEpochs) {
  const Outcome outcome = run({.patience = 9, .restore_best_weights = true}, {3, 1, 2, 2});
  EXPECT_EQ(outcome.epochs, 4u);
  EXPECT_EQ(outcome.last_hash, outcome.hashes[1]);
}

// As in Keras: where no epoch was the best, it was the first one.
TEST(EarlyStopping, RestoresTheFirstWeightsOfARunWithoutNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Outcome outcome = run({.patience = 9, .restore_best_weights = true}, {nan, nan, nan});
  EXPECT_EQ(outcome.last_hash, outcome.hashes[0]);
  EXPECT_NE(outcome.last_hash, outcome.hashes[2]);
}

// Who keeps what he made of the weights sees by the version that they are others.
TEST(EarlyStopping, RestoredWeightsAreOfANewVersion) {
  Model model = small_model();
  EarlyStopping stop({.restore_best_weights = true});
  const TrainingPlan plan{.epochs = 1, .has_validation = true};
  stop.attach(model, plan);
  stop.on_train_begin(model, plan);
  Logs logs;
  logs.set("val_loss", 1.0);
  stop.on_epoch_end(0, logs);
  const std::uint64_t before = model.arena().version();
  stop.on_train_end({});
  EXPECT_NE(model.arena().version(), before);
}

/// Fit with val_loss of epoch i being values[i].
void fit_script(Model& model, const std::vector<double>& values, std::int64_t epochs, bool resume,
                bool stops = true) {
  const InMemoryDataset data = small_images(8);
  LambdaCallback script({.on_epoch_end = [&](std::int64_t epoch, Logs& logs) {
    logs.set("val_loss", values[static_cast<std::size_t>(epoch)]);
  }});
  EarlyStopping stop({.patience = 50, .restore_best_weights = true});
  std::vector<Callback*> callbacks{&script};
  if (stops) callbacks.push_back(&stop);
  model.fit(data, {.epochs = epochs,
                   .resume = resume,
                   .validation = &data,
                   .callbacks = callbacks,
                   .verbose = 0,
                   .warn = [](const std::string&) {}});
}

// The weights are of one epoch, the optimizer and the place in the data of another.
TEST(EarlyStopping, ARunThatEndedWithTheBestWeightsIsNotResumed) {
  const std::string refusal =
      "[fit] cannot resume: when the run ended, its callback early_stopping left other weights than those it "
      "would go on from: resume from a checkpoint of the run, or call fit without resume";
  const TempDir dir;
  Model model = small_model();
  fit_script(model, {1, 2}, 2, false);
  const std::string best = model.weights_sha256();
  const auto resume = [&] { fit_script(model, {1, 2, 3}, 3, true, false); };
  EXPECT_EQ(message_of<UsageError>(resume), refusal);
  fit_script(model, {1, 2}, 2, true);  // nothing is left to train, which does no harm
  EXPECT_EQ(model.weights_sha256(), best);
  EXPECT_EQ(message_of<UsageError>(resume), refusal);

  model.save(dir / "m.h5");
  Model loaded = small_model();
  loaded.load_weights(dir / "m.h5");
  EXPECT_EQ(message_of<UsageError>([&] { fit_script(loaded, {1, 2, 3}, 3, true); }), refusal);

  fit_script(model, {1, 2}, 2, false, false);  // as in Keras
  EXPECT_NO_THROW(resume());
}

TEST(EarlyStopping, ARunWhoseLastEpochWasTheBestIsResumed) {
  Model model = small_model(), undisturbed = small_model();
  fit_script(undisturbed, {3, 2, 1}, 3, false);
  fit_script(model, {3, 2}, 2, false);
  fit_script(model, {3, 2, 1}, 3, true);
  EXPECT_EQ(model.weights_sha256(), undisturbed.weights_sha256());
}

TEST(EarlyStopping, BestWeightsSurviveACheckpoint) {
  Model model = small_model();
  const InMemoryDataset data = small_images(8);
  EarlyStopping first({.patience = 5, .restore_best_weights = true}), second = first;
  Logs logs;
  logs.set("val_loss", 1.0);
  const TrainingPlan plan{.epochs = 3, .has_validation = true};
  first.attach(model, plan);
  first.on_train_begin(model, plan);
  first.on_epoch_end(0, logs);
  const std::string best = model.weights_sha256();
  model.fit(data, {.verbose = 0});
  EXPECT_NE(model.weights_sha256(), best);
  second.attach(model, plan);
  second.on_train_begin(model, plan);
  second.restore(first.state());
  second.on_train_end({});
  EXPECT_EQ(model.weights_sha256(), best);

  CallbackState other_net = first.state();
  other_net.tensors.pop_back();
  EXPECT_THROW(second.restore(other_net), InputError);
  other_net = first.state();
  other_net.tensors[0].name = "conv2d_1/kernel";
  EXPECT_EQ(message_of<InputError>([&] { second.restore(other_net); }),
            "[early_stopping] the best weights have conv2d_1/kernel (3, 3, 1, 4), this net has conv2d/kernel "
            "(3, 3, 1, 4)");
}

TEST(EarlyStopping, UnknownKeyListsWhatThereIs) {
  EXPECT_EQ(message_of<UsageError>([] { run({.monitor = "precision", .mode = MonitorMode::max}, {1}); }),
            "[early_stopping] monitors precision, but there is only loss, accuracy, val_loss, val_accuracy");
}

// A recall that falls from 1 to 0: what says no to all is learnt, and the first epoch was the best.
TEST(EarlyStopping, KeepsTheLargestRecall) {
  std::vector<float> x;
  for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i % 4) / 4.0f);
  const InMemoryDataset data(Tensor::from<float>({16, 1}, x), Tensor::zeros({16, 1}));
  const InMemoryDataset positives(Tensor::from<float>({16, 1}, x), Tensor::full({16, 1}, 1.0));
  Model model(
      std::make_unique<Sequential>(Dense(
          {.units = 1, .activation = Activation::sigmoid, .bias_initializer = Initializer::constant(0.5)})),
      {1}, {.seed = 3});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.3}),
                 .loss = make_loss("binary_crossentropy"),
                 .metrics = {make_metric("Recall")}});
  std::vector<std::string> hashes;
  LambdaCallback spy(
      {.on_epoch_end = [&](std::int64_t, Logs&) { hashes.push_back(model.weights_sha256()); }});
  EarlyStopping stop({.monitor = "val_recall", .patience = 20, .restore_best_weights = true});
  const History history =
      model.fit(data, {.epochs = 20, .validation = &positives, .callbacks = {&spy, &stop}, .verbose = 0});
  EXPECT_EQ(history.values.at("val_recall").front(), 1.0);
  EXPECT_EQ(history.values.at("val_recall").back(), 0.0);
  EXPECT_EQ(stop.best_epoch(), 0);
  EXPECT_EQ(model.weights_sha256(), hashes.front());
}

}  // namespace
}  // namespace ronde::test
