// What happens to a training whose checkpoints cannot be written, or are damaged.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <thread>

#include <ronde/models/backup_and_restore.h>
#include <ronde/models/file_io.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/latest_checkpoint.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/reduce_lr_on_plateau.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/regression_loss.h>
#include <ronde/nn/sgd.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

/// While one lives no file of this process may grow beyond a few bytes: as on a full disk, writing fails.
class FullDisk {
 public:
  FullDisk() : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = 1000;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

/// Four epochs; the disk is full in the given ones. Returns the warnings, and behind them the model's
/// unwritten_checkpoint.
std::pair<std::vector<std::string>, std::string> train_on_full_disk(const std::string& path,
                                                                    std::vector<std::int64_t> full_epochs) {
  Model model = small_model();
  const InMemoryDataset data = small_images(8);
  ModelCheckpoint checkpoint({.filepath = path});
  std::unique_ptr<FullDisk> full;
  LambdaCallback disk({.on_epoch_begin = [&](std::int64_t epoch) {
    full.reset();
    if (std::count(full_epochs.begin(), full_epochs.end(), epoch) > 0) full = std::make_unique<FullDisk>();
  }});
  std::vector<std::string> warnings;
  FitOptions fit{.epochs = 4, .callbacks = {&disk, &checkpoint}, .verbose = 0};
  fit.warn = [&](const std::string& warning) { warnings.push_back(warning); };
  const History history = model.fit(data, fit);
  EXPECT_EQ(history.epochs.size(), 4u) << "training did not go on";
  return {warnings, model.progress().unwritten_checkpoint};
}

/// One on each rank, which names the path.
void expect_io_errors(const std::vector<std::exception_ptr>& errors, const std::string& path) {
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    try {
      std::rethrow_exception(error);
    } catch (const CollectiveError& e) {
      EXPECT_EQ(e.status(), ExitStatus::io);
      EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
    }
  }
}

TEST(CheckpointFailure, FullDiskIsAWarningAndTheLastGoodFileStays) {
  const TempDir dir(memory_directory());
  // The file of the second epoch may still be on its way when the disk is full.
  const auto [warnings, unwritten] = train_on_full_disk(dir / "model.h5", {2, 3});
  ASSERT_GE(warnings.size(), 3u);
  EXPECT_EQ(warnings[0], dir / "model.h5" +
                             ": writing failed: File too large; training goes on, earlier checkpoints are as "
                             "they were");
  EXPECT_EQ(warnings.at(warnings.size() - 2),
            dir / "model.h5" + ": writing failed: File too large; earlier checkpoints are as they were")
      << "of the last epoch";
  EXPECT_EQ(warnings.back(), "training has ended, but its last checkpoint could not be written");
  EXPECT_EQ(unwritten, dir / "model.h5");
  const LatestCheckpoint latest = latest_checkpoint(dir.path());
  EXPECT_TRUE(latest.epochs == 1 || latest.epochs == 2) << latest.epochs;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1)
      << "a temporary file is left";
}

TEST(CheckpointFailure, SavingGoesOnWhenThereIsRoomAgain) {
  const TempDir dir(memory_directory());
  const auto [warnings, unwritten] = train_on_full_disk(dir / "model.h5", {1, 2});
  ASSERT_GE(warnings.size(), 1u);
  EXPECT_NE(warnings.back(), "training has ended, but its last checkpoint could not be written");
  EXPECT_EQ(unwritten, "");
  EXPECT_EQ(latest_checkpoint(dir.path()).epochs, 4);
}

TEST(CheckpointFailure, WhatHasTheNameOfAnEpochsFileIsThrownBeforeTheFirstStep) {
  const TempDir dir(memory_directory());
  std::filesystem::create_directory(dir / "model-3.h5");
  const auto errors = test::run_ranks_collecting(2, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    ModelCheckpoint checkpoint({.filepath = dir / "model-{epoch}.h5"});
    LambdaCallback steps({.on_train_batch_begin = [](std::int64_t) { ADD_FAILURE() << "a step"; }});
    model.fit(small_images(8), {.epochs = 3, .callbacks = {&checkpoint, &steps}, .verbose = 0});
  });
  expect_io_errors(errors, dir / "model-3.h5");
}

TEST(CheckpointFailure, OtherFailuresAreThrownOnAllRanks) {
  const TempDir dir(memory_directory());
  atomic_write_file(dir / "file", "x");
  const auto errors = test::run_ranks_collecting(3, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    ModelCheckpoint checkpoint({.filepath = dir / "file/{epoch}.h5"});
    model.fit(small_images(8), {.epochs = 3, .callbacks = {&checkpoint}, .verbose = 0});
  });
  expect_io_errors(errors, dir / "file");
}

// Where files could be written before, what is wrong now may pass.
TEST(CheckpointFailure, AFolderThatIsGoneLaterIsAWarning) {
  const TempDir dir(memory_directory());
  std::filesystem::create_directory(dir / "folder");
  Model model = small_model();
  ModelCheckpoint checkpoint({.filepath = dir / "folder/{epoch}.h5"});
  const InMemoryDataset data = small_images(8);
  LambdaCallback loss({.on_epoch_begin = [&](std::int64_t epoch) {
    if (epoch != 1) return;
    while (!std::filesystem::exists(dir / "folder/1.h5")) std::this_thread::yield();
    std::filesystem::rename(dir / "folder", dir / "elsewhere");
    atomic_write_file(dir / "folder", "in the way");
  }});
  std::vector<std::string> warnings;
  FitOptions fit{.epochs = 3, .callbacks = {&loss, &checkpoint}, .verbose = 0};
  fit.warn = [&](const std::string& warning) { warnings.push_back(warning); };
  EXPECT_EQ(model.fit(data, fit).epochs.size(), 3u);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_TRUE(warnings[0].starts_with(dir / "folder")) << warnings[0];
  EXPECT_NE(warnings[0].find("training goes on"), std::string::npos) << warnings[0];
}

TEST(CheckpointFailure, WeightsThatAreNotFiniteAreNotSaved) {
  const TempDir dir(memory_directory());
  Model model(small_net(), {6, 6, 1});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 1e30}),
                 .loss = std::make_unique<CategoricalCrossentropy>()});
  ModelCheckpoint checkpoint({.filepath = dir / "{epoch}-{batch}.h5", .save_steps = 1});
  EXPECT_THROW(model.fit(small_images(40), {.batch_size = 4, .callbacks = {&checkpoint}, .verbose = 0}),
               CollectiveError);
  const LatestCheckpoint latest = latest_checkpoint(dir.path());
  EXPECT_LT(latest.steps, 10);
}

/// Six epochs of 2 steps; throws when `dies_after` epochs are over.
History train_with_backup(const std::string& backups, std::int64_t dies_after, std::string* weights = nullptr,
                          std::vector<std::string>* warnings = nullptr) {
  Model model = small_model({.seed = 4});
  const InMemoryDataset data = small_images(8);
  BackupAndRestore backup({.backup_dir = backups});
  LambdaCallback death({.on_epoch_begin = [&](std::int64_t epoch) {
    if (epoch == dies_after) throw Error("killed");
  }});
  FitOptions fit{.batch_size = 4, .epochs = 6, .callbacks = {&backup, &death}, .verbose = 0};
  if (warnings) fit.warn = [=](const std::string& warning) { warnings->push_back(warning); };
  const History history = model.fit(data, fit);
  if (weights) *weights = model.weights_sha256();
  return history;
}

TEST(BackupAndRestore, GoesOnByItselfAndDeletesTheBackupAtTheEnd) {
  const TempDir dir(memory_directory());
  std::string undisturbed, resumed;
  const History history = train_with_backup(dir / "a", -1, &undisturbed);
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
  EXPECT_THROW(train_with_backup(dir / "b", 2), Error);
  EXPECT_THROW(train_with_backup(dir / "b", 5), Error);
  EXPECT_TRUE(std::filesystem::exists(dir / "b/backup-00005.h5"));
  const History again = train_with_backup(dir / "b", -1, &resumed);
  EXPECT_EQ(again.values, history.values);
  EXPECT_EQ(again.epochs, history.epochs);
  EXPECT_EQ(resumed, undisturbed);
  EXPECT_FALSE(std::filesystem::exists(dir / "b"));
}

TEST(BackupAndRestore, TakesTheBackupBeforeADamagedOne) {
  const TempDir dir(memory_directory());
  std::string undisturbed, resumed;
  train_with_backup(dir / "a", -1, &undisturbed);
  EXPECT_THROW(train_with_backup(dir / "b", 4), Error);
  atomic_write_file(dir / "b/backup-00004.h5", "gone");
  std::vector<std::string> warnings;
  train_with_backup(dir / "b", -1, &resumed, &warnings);
  EXPECT_EQ(resumed, undisturbed);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0],
            "backup skipped: " + (dir / "b/backup-00004.h5") + ": is cut off, or no checkpoint of Ronde");
}

/// What fit(resume) says when the file's run, which may differ from the usual one by `begin`, and this one
/// differ as `change` makes them.
std::string refusal(const std::function<void(CompileOptions&, FitOptions&)>& change,
                    ModelOptions options = {}, const std::function<void(CompileOptions&)>& begin = {}) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(8);
  Model first = small_model();
  if (CompileOptions own = small_compile(); begin) {
    begin(own);
    first.compile(std::move(own));
  }
  first.fit(data, {.batch_size = 4, .verbose = 0});
  first.save(dir / "model.h5");
  CompileOptions compile = small_compile();
  FitOptions fit{.batch_size = 4, .epochs = 2, .resume = true, .verbose = 0};
  fit.warn = [](const std::string& warning) { throw Error(warning); };
  change(compile, fit);
  Model second(small_net(), {6, 6, 1}, options);
  second.compile(std::move(compile));
  second.load_weights(dir / "model.h5");
  const std::string before = second.weights_sha256();
  const std::string message = message_of<Error>([&] { second.fit(data, fit); });
  EXPECT_EQ(second.weights_sha256(), before);
  return message;
}

TEST(Resume, AnotherRunIsRefusedWithBothValues) {
  const std::string begin = "[fit] cannot resume: the run to go on with has ";
  const auto expect = [&](const std::string& message, const std::string& end) {
    EXPECT_EQ(message, begin + end + ": give the same");
  };
  expect(refusal([](CompileOptions&, FitOptions& fit) { fit.batch_size = 2; }),
         "global_batch 4, this one has 2");
  expect(refusal([](CompileOptions&, FitOptions& fit) { fit.steps_per_epoch = 1; }),
         "steps_per_epoch 2, this one has 1");
  expect(refusal([](CompileOptions&, FitOptions& fit) { fit.shuffle = false; }),
         "shuffle true, this one has false");
  expect(refusal([](CompileOptions&, FitOptions&) {}, {.seed = 9}), "seed 0, this one has 9");
  expect(refusal([](CompileOptions&, FitOptions&) {}, {.dtype = DType::f64}),
         "precision f32, this one has f64");
  expect(refusal([](CompileOptions&, FitOptions&) {}, {.compute_dtype = DType::bf16}),
         "precision f32, this one has mixed_bfloat16");
  expect(refusal([](CompileOptions& compile, FitOptions&) { compile.optimizer = std::make_unique<SGD>(); }),
         "optimizer Adam, this one has SGD");
  expect(refusal([](CompileOptions& compile, FitOptions&) {
           compile.optimizer = std::make_unique<Adam>(AdamOptions{.beta_1 = 0.5});
         }),
         "optimizer's beta_1 0.9, this one has 0.5");
  expect(refusal([](CompileOptions& compile, FitOptions&) {
           compile.optimizer = std::make_unique<Adam>(AdamOptions{.clip = {.global_norm = 0.5}});
         }),
         "optimizer's global_clipnorm 0.0, this one has 0.5");
  const auto with_schedule = [](CompileOptions& compile, std::int64_t steps) {
    SGD sgd({.learning_rate = 0.1});
    sgd.set_schedule(std::make_shared<OneCycle>(OneCycleOptions{.total_steps = steps}));
    compile.optimizer = std::make_unique<OptimizerGroups>(optimizer_group("*", std::move(sgd)));
  };
  expect(refusal([&](CompileOptions& compile, FitOptions&) { with_schedule(compile, 8); }, {},
                 [&](CompileOptions& compile) { with_schedule(compile, 4); }),
         "optimizer's *: schedule's total_steps 4, this one has 8");
  expect(refusal([](CompileOptions& compile, FitOptions&) {
           compile.loss = std::make_unique<MeanSquaredError>();
         }),
         "loss categorical_crossentropy, this one has mean_squared_error");
  EXPECT_EQ(
      refusal([](CompileOptions&, FitOptions& fit) { fit.micro_batch = 3; }),
      "resuming with micro_batch 3 instead of 0: sums are rounded differently, so this is not bit for bit "
      "the run that never stopped");
}

TEST(Resume, OtherStatisticsOfABatchNormAreSaidSo) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(8);
  const auto warning = [&](const BatchNormalizationOptions& norm) {
    const auto make = [&] {
      Model model(std::make_unique<Sequential>(Flatten(), BatchNormalization(norm), Dense({.units = 3})),
                  {6, 6, 1});
      model.compile(small_compile());
      return model;
    };
    Model begun = make(), resumed = make();
    begun.fit(data, {.batch_size = 4, .verbose = 0});
    begun.save(dir / "x.h5");
    resumed.load_weights(dir / "x.h5");
    std::string said;
    resumed.fit(data, {.batch_size = 4,
                       .epochs = 2,
                       .resume = true,
                       .micro_batch = 2,
                       .verbose = 0,
                       .warn = [&](const std::string& line) { said += line; }});
    return said;
  };
  EXPECT_EQ(
      warning({}),
      "resuming with micro_batch 2 instead of 0, samples of a batch norm's statistics 2 instead of 4: sums "
      "are rounded differently, so this is not bit for bit the run that never stopped");
  EXPECT_EQ(warning({.synchronized = true}),
            "resuming with micro_batch 2 instead of 0: sums are rounded differently, so this is not bit for "
            "bit the "
            "run that never stopped");
}

TEST(Resume, NeedsSomethingToGoOnWith) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(8);
  Model fresh = small_model();
  EXPECT_THROW(fresh.fit(data, {.resume = true, .verbose = 0}), UsageError);
  fresh.save_weights(dir / "weights.h5");
  Model model = small_model({.seed = 1});
  model.load_weights(dir / "weights.h5");
  std::string warning;
  FitOptions fit{.resume = true, .verbose = 0};
  fit.warn = [&](const std::string& text) { warning = text; };
  EXPECT_EQ(model.fit(data, fit).epochs.size(), 1u);
  EXPECT_EQ(warning, dir / "weights.h5" +
                         ": holds no state of a training by Ronde: its weights are used, but "
                         "this cannot go on exactly where they come from");

  Model trained = small_model();
  trained.fit(data, {.verbose = 0});
  trained.save(dir / "model.h5");
  Model late(small_net(), {6, 6, 1});
  late.load_weights(dir / "model.h5");
  late.compile(small_compile());
  EXPECT_NE(message_of<UsageError>([&] {
              late.fit(data, {.epochs = 2, .resume = true, .verbose = 0});
            }).find("call compile before load_weights"),
            std::string::npos);
}

TEST(Resume, MoreEpochsAfterTheEndAndInTheSameProgram) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(8);
  Model whole = small_model(), parts = small_model();
  const History history = whole.fit(data, {.batch_size = 4, .epochs = 3, .verbose = 0});
  parts.fit(data, {.batch_size = 4, .epochs = 1, .verbose = 0});
  parts.fit(data, {.batch_size = 4, .epochs = 2, .resume = true, .verbose = 0});
  parts.save(dir / "model.h5");
  Model loaded = Model::load(dir / "model.h5");
  const History resumed = loaded.fit(data, {.batch_size = 4, .epochs = 3, .resume = true, .verbose = 0});
  EXPECT_EQ(loaded.weights_sha256(), whole.weights_sha256());
  EXPECT_EQ(resumed.values, history.values);
  EXPECT_EQ(loaded.progress().steps, 6);
}

TEST(Resume, CallbacksGoOnInTheSameProgramOnAllRanks) {
  const InMemoryDataset data = small_images(8);
  test::run_ranks(2, [&](Communicator& world) {
    Model whole = small_model({.communicator = &world}), parts = small_model({.communicator = &world});
    const auto train = [&](Model& model, std::int64_t epochs, bool resume) {
      // Decides after every second epoch.
      ReduceLROnPlateau reduce(
          {.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 10, .cooldown = 1});
      return model.fit(
          data,
          {.global_batch_size = 4, .epochs = epochs, .resume = resume, .callbacks = {&reduce}, .verbose = 0});
    };
    const History history = train(whole, 5, false);
    for (const std::int64_t epochs : {1, 2, 3, 5}) train(parts, epochs, epochs > 1);
    EXPECT_EQ(parts.weights_sha256(), whole.weights_sha256());
    EXPECT_EQ(parts.optimizer().learning_rate(), whole.optimizer().learning_rate());
    EXPECT_LT(whole.optimizer().learning_rate(), 0.005) << "it never decided";
  });
}

TEST(Resume, AFitThatFailedLeavesNothingToGoOnWith) {
  const InMemoryDataset data = small_images(8);
  Model model = small_model();
  model.fit(data, {.verbose = 0});
  LambdaCallback failure({.on_train_batch_end = [](std::int64_t, const Logs&) { throw Error("failed"); }});
  EXPECT_THROW(model.fit(data, {.epochs = 2, .resume = true, .callbacks = {&failure}, .verbose = 0}), Error);
  EXPECT_THROW(model.fit(data, {.epochs = 2, .resume = true, .verbose = 0}), UsageError);
}

TEST(Resume, OnAnotherNumberOfRanksItSaysSoAndCountsRight) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(14);
  const FitOptions fit{.global_batch_size = 5, .verbose = 0};
  Model alone = small_model();
  ModelCheckpoint checkpoint({.filepath = dir / "{batch}.h5", .save_steps = 1});
  FitOptions saving = fit;
  saving.callbacks = {&checkpoint};
  const double loss = alone.fit(data, saving).values.at("loss")[0];
  test::run_ranks(3, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    model.load_weights(dir / "1.h5");
    FitOptions resuming = fit;
    resuming.resume = true;
    std::vector<std::string> warnings;
    resuming.warn = [&](const std::string& warning) { warnings.push_back(warning); };
    const History history = model.fit(data, resuming);
    EXPECT_NEAR(history.values.at("loss")[0], loss, 1e-5);
    EXPECT_EQ(warnings.size(), world.rank() == 0 ? 2u : 0u);  // ranks; the ModelCheckpoint is not there
  });
}

}  // namespace
}  // namespace ronde::test
