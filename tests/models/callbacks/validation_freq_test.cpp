// FitOptions::validation_freq, and what callbacks do in epochs without a validation.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include <ronde/models/csv_logger.h>
#include <ronde/models/early_stopping.h>
#include <ronde/models/file_io.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/reduce_lr_on_plateau.h>

#include "models/callbacks/keras_callbacks.h"
#include "models/golden_record.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

Logs val_loss(double value) {
  Logs logs;
  logs.set("val_loss", value);
  return logs;
}

std::vector<std::int64_t> integers(const ConfigValue& list) {
  std::vector<std::int64_t> values;
  for (const ConfigValue& value : list.as_list()) values.push_back(value.as_int());
  return values;
}

/// Trains epochs [first, end) with a validation every second one.
History fit_with(std::vector<Callback*> callbacks, std::int64_t first = 0, std::int64_t end = 5) {
  Model model = small_model();
  const InMemoryDataset data = small_images(8), validation = small_images(6, 1);
  return model.fit(data, {.batch_size = 4,
                          .epochs = end,
                          .initial_epoch = first,
                          .validation = &validation,
                          .validation_freq = 2,
                          .callbacks = std::move(callbacks),
                          .verbose = 0});
}

TEST(ValidationFreq, CountsEpochsFromTheFirstOfTheTraining) {
  for (const std::int64_t first : {0, 1}) {
    std::vector<std::int64_t> validated;
    LambdaCallback spy({.on_epoch_end = [&](std::int64_t epoch, Logs& logs) {
      EXPECT_NE(logs.find("loss"), nullptr);
      if (logs.find("val_loss")) validated.push_back(epoch);
    }});
    const History history = fit_with({&spy}, first);
    EXPECT_EQ(validated, (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(history.values.at("loss").size(), static_cast<std::size_t>(5 - first));
    EXPECT_EQ(history.values.at("val_loss").size(), 2u);
  }
}

// tests/golden/metrics_keras3.15.1.json, of `fit` in Keras.
TEST(ValidationFreq, EpochsAreThoseOfKeras) {
  const ConfigValue record = golden_record("metrics_keras3.15.1.json");
  const InMemoryDataset data = small_images(8), validation = small_images(6, 1);
  ASSERT_EQ(record.at("validations").as_list().size(), 6u);
  for (const ConfigValue& entry : record.at("validations").as_list()) {
    const ConfigValue& freq = entry.at("validation_freq");
    FitOptions options{.batch_size = 4,
                       .epochs = entry.at("epochs").as_int(),
                       .initial_epoch = entry.at("initial_epoch").as_int(),
                       .validation = &validation,
                       .verbose = 0};
    if (freq.is_list())
      options.validation_freq = integers(freq);
    else
      options.validation_freq = freq.as_int();
    std::vector<std::int64_t> validated;
    LambdaCallback spy({.on_epoch_end = [&](std::int64_t epoch, Logs& logs) {
      if (logs.find("val_loss")) validated.push_back(epoch);
    }});
    options.callbacks = {&spy};
    Model model = small_model();
    const History history = model.fit(data, options);
    EXPECT_EQ(validated, integers(entry.at("validated"))) << to_json(entry);
    EXPECT_EQ(history.values.contains("val_loss") ? history.values.at("val_loss").size() : 0,
              validated.size());
  }
}

TEST(ValidationFreq, IsANumberOrAList) {
  EXPECT_TRUE(ValidationFreq().includes(0));
  EXPECT_TRUE(ValidationFreq(3).includes(2));
  EXPECT_FALSE(ValidationFreq(3).includes(3));
  EXPECT_TRUE(ValidationFreq({3}).includes(2));
  EXPECT_FALSE(ValidationFreq({3}).includes(5));
}

TEST(ValidationFreq, ValuesAreThoseOfTheEpochsThatValidate) {
  Model model = small_model();
  const InMemoryDataset data = small_images(8), validation = small_images(6, 1);
  const History each =
      model.fit(data, {.batch_size = 4, .epochs = 5, .validation = &validation, .verbose = 0});
  const std::vector<double>& all = each.values.at("val_loss");
  EXPECT_EQ(fit_with({}).values.at("val_loss"), (std::vector<double>{all[1], all[3]}));
}

TEST(ValidationFreq, EarlyStoppingWaitsForValues) {
  Model model = one_weight_model(0.5);
  CallbackScript script(model, 9);
  script.plan().validation_freq = 2;
  EarlyStopping stop({.patience = 2, .restore_best_weights = true});
  script.begin(stop);
  const std::vector<double> values{2.0, 1.0, 1.5, 1.25};
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    EXPECT_EQ(stop.stopped_epoch(), -1);
    script.epoch(epoch, epoch % 2 ? val_loss(values[static_cast<std::size_t>(epoch / 2)]) : Logs());
  }
  EXPECT_EQ(stop.stopped_epoch(), 7);
  script.end();
  EXPECT_EQ(script.weight(), 4.0) << "of the best epoch, the fourth";
}

TEST(ValidationFreq, ReduceLROnPlateauPassesEpochsOver) {
  Model model = one_weight_model(1.0);
  CallbackScript script(model, 8);
  script.plan().validation_freq = 2;
  ReduceLROnPlateau reduce({.factor = 0.5, .patience = 1, .cooldown = 1});
  script.begin(reduce);
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) script.epoch(epoch, epoch % 2 ? val_loss(1.0) : Logs());
  EXPECT_EQ(script.rates_at_end, (std::vector<double>{1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125}));
  EXPECT_EQ(script.logged, (std::vector<double>{1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25}));
}

// One that is spelled wrong, for example, would never be looked at else.
TEST(ValidationFreq, AnEpochThatValidatesHasToHaveTheValue) {
  Model model = one_weight_model(0.5);
  CallbackScript script(model, 2);
  script.plan().validation_freq = 2;
  EarlyStopping stop({.monitor = "val_los", .mode = MonitorMode::min});
  script.begin(stop);
  script.epoch(0, {});
  EXPECT_EQ(message_of<UsageError>([&] { script.epoch(1, val_loss(1.0)); }),
            "[early_stopping] monitors val_los, but there is only val_loss");
}

std::vector<std::string> files_of(ModelCheckpointOptions options) {
  const TempDir dir;
  options.filepath = dir / options.filepath;
  ModelCheckpoint checkpoint(std::move(options));
  fit_with({&checkpoint});
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    names.push_back(entry.path().filename().string().substr(0, 1));
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ValidationFreq, ModelCheckpointSavesWhereItsValuesAre) {
  const std::vector<std::string> all{"1", "2", "3", "4", "5"}, validated{"2", "4"};
  EXPECT_EQ(files_of({.filepath = "{epoch}.h5"}), all);
  EXPECT_EQ(files_of({.filepath = "{epoch}-{loss:.1f}.h5"}), all);
  EXPECT_EQ(files_of({.filepath = "{epoch}-{val_loss:.1f}.h5"}), validated);
  EXPECT_EQ(files_of({.filepath = "{epoch}.h5", .keep_best = 5}), validated);
  EXPECT_EQ(files_of({.filepath = "{epoch}.h5", .monitor = "loss", .keep_best = 5}), all);
}

TEST(ValidationFreq, CSVLoggerHasItsColumnsFromTheFirstRowOn) {
  const TempDir dir;
  CSVLogger logger({.filename = dir / "log.csv"});
  fit_with({&logger}, 0, 2);
  const std::string text = read_file(dir / "log.csv");
  EXPECT_TRUE(text.starts_with("epoch,accuracy,loss,val_accuracy,val_loss\r\n0,")) << text;
  EXPECT_NE(text.find(",NA,NA\r\n1,"), std::string::npos) << text;
  EXPECT_EQ(text.find("NA", text.find("\r\n1,")), std::string::npos) << text;
}

TEST(ValidationFreq, IsPartOfTheRunThatIsResumed) {
  const InMemoryDataset data = small_images(8);
  Model model = small_model();
  FitOptions options{.epochs = 2, .validation = &data, .validation_freq = 2, .verbose = 0};
  model.fit(data, options);
  options.epochs = 4;
  options.resume = true;
  options.validation_freq = 1;
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] cannot resume: the run to go on with has epochs to a validation 2, this one has 1: give "
            "the same");
  options.validation_freq = {2, 4};
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, options); }),
            "[fit] cannot resume: the run to go on with has epochs to a validation 2, this one has [2,4]: "
            "give the same");
  options.validation_freq = 2;
  const History history = model.fit(data, options);
  EXPECT_EQ(history.epochs.size(), 4u);
  EXPECT_EQ(history.values.at("val_loss").size(), 2u);
}

TEST(ValidationFreq, IsAtLeastOne) {
  Model model = small_model();
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(small_images(8), {.validation_freq = 0, .verbose = 0}); }),
            "[fit] validation_freq must be at least 1, got 0");
  EXPECT_EQ(message_of<UsageError>([&] {
              model.fit(small_images(8), {.validation_freq = {2, 0}, .verbose = 0});
            }),
            "[fit] validation_freq: epochs are counted from 1, got 0");
}

}  // namespace
}  // namespace ronde::test
