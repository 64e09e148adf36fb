// A run that was stopped anywhere and resumed is the run that never stopped: weights, history and every later
// checkpoint, bit for bit.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>

#include <ronde/data/geometric_augmentations.h>
#include <ronde/models/early_stopping.h>
#include <ronde/models/file_io.h>
#include <ronde/models/learning_rate_scheduler.h>
#include <ronde/models/learning_rate_warmup.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/reduce_lr_on_plateau.h>
#include <ronde/models/swap_ema_weights.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/adagrad.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/muon.h>
#include <ronde/nn/optimizer_groups.h>
#include <ronde/nn/rmsprop.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using Callbacks = std::vector<std::unique_ptr<Callback>>;

/// A kind of run.
struct Job {
  std::function<std::unique_ptr<Sequential>()> net = small_net;
  std::function<std::unique_ptr<Optimizer>()> optimizer = [] { return std::make_unique<Adam>(); };
  std::function<Callbacks()> callbacks = [] { return Callbacks(); };
  FitOptions fit = {};
  int ranks = 1;
  int resumed_ranks = 0;  ///< 0: as many
  bool with_validation = false;
};

struct Outcome {
  std::string weights;
  History history;
  double rate = 0.0;
  bool operator==(const Outcome& other) const {
    return weights == other.weights && history.epochs == other.history.epochs &&
           history.values == other.history.values && rate == other.rate;
  }
};

constexpr std::int64_t kSamples = 14, kBatch = 5;  // 3 steps an epoch, the last of 4 samples

/// `file` empty: from the beginning. The checkpoints stand first in the list, so that what they save proves
/// that the others have decided before.
Outcome train(const Job& job, const std::string& dir, const std::string& file = {}) {
  const InMemoryDataset data = small_images(kSamples), validation = small_images(7, 1);
  Outcome outcome;
  std::mutex lock;
  const int ranks = !file.empty() && job.resumed_ranks > 0 ? job.resumed_ranks : job.ranks;
  test::run_ranks(ranks, [&](Communicator& world) {
    // Another seed than the file's, and other weights, as after a start of the program.
    Model model(job.net(), {6, 6, 1}, {.communicator = &world, .seed = 3, .backend = &backend("cpu")});
    model.compile({.optimizer = job.optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
    if (!file.empty()) model.load_weights(file);
    ModelCheckpoint steps({.filepath = dir + "/{epoch}-{batch}.h5", .save_steps = 1});
    ModelCheckpoint epochs({.filepath = dir + "/{epoch}.h5"});
    const Callbacks callbacks = job.callbacks();
    FitOptions fit = job.fit;
    fit.global_batch_size = kBatch;
    fit.verbose = 0;
    fit.resume = !file.empty();
    fit.warn = [](const std::string& warning) { ADD_FAILURE() << warning; };
    fit.callbacks = {&steps, &epochs};
    for (const auto& callback : callbacks) fit.callbacks.push_back(callback.get());
    if (job.with_validation) fit.validation = &validation;
    const History history = model.fit(data, fit);
    const std::lock_guard guard(lock);
    outcome = {model.weights_sha256(), history, model.optimizer().learning_rate()};
  });
  return outcome;
}

std::map<std::string, std::string> files_in(const TempDir& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    files[entry.path().filename()] = read_file(entry.path());
  return files;
}

/// Stops after each step and each epoch, and goes on from there.
void expect_resumes_anywhere(const Job& job) {
  const TempDir dir(memory_directory());
  const Outcome undisturbed = train(job, dir.path());
  const auto files = files_in(dir);
  EXPECT_GE(files.size(), 7u);
  for (const auto& [name, bytes] : files) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(train(job, dir.path(), dir / name) == undisturbed);
    for (const auto& [other, now] : files_in(dir)) EXPECT_TRUE(now == files.at(other)) << other << " differs";
  }
}

template <class T, class... Arguments>
void add(Callbacks& callbacks, Arguments&&... arguments) {
  callbacks.push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
}

TEST(Resume, AdamWithDropout) {
  expect_resumes_anywhere({.fit = {.epochs = 2}});
}

TEST(Resume, Regularizers) {
  expect_resumes_anywhere({.net =
                               [] {
                                 return std::make_unique<Sequential>(
                                     Flatten(), Dense({.units = 3,
                                                       .activation = Activation::softmax,
                                                       .kernel_regularizer = Regularizer::l1_l2(0.1, 0.2)}));
                               },
                           .fit = {.epochs = 2},
                           .with_validation = true});
}

TEST(Resume, AveragesThatAreSavedInPlaceOfTheWeights) {
  for (const std::int64_t overwrite_frequency : {0, 4})
    expect_resumes_anywhere(
        {.optimizer =
             [overwrite_frequency] {
               auto sgd = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.9});
               sgd->set_moving_average({.momentum = 0.7, .overwrite_frequency = overwrite_frequency});
               return sgd;
             },
         .callbacks =
             [] {
               Callbacks callbacks;
               add<SwapEMAWeights>(callbacks, SwapEMAWeightsOptions{.swap_on_epoch = true});
               return callbacks;
             },
         .fit = {.epochs = 2},
         .ranks = 2,
         .with_validation = true});
}

TEST(Resume, MomentumAndWarmup) {
  expect_resumes_anywhere(
      {.optimizer =
           [] {
             return std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.9, .decay = 0.01});
           },
       .callbacks =
           [] {
             Callbacks callbacks;
             add<LearningRateWarmup>(callbacks, LearningRateWarmupOptions{.scale = 4, .warmup_epochs = 2});
             return callbacks;
           },
       .fit = {.epochs = 2}});
}

TEST(Resume, GroupsWithMuonAndSchedules) {
  expect_resumes_anywhere(
      {.optimizer =
           [] {
             Muon muon({.learning_rate = 0.02});
             SGD sgd({.learning_rate = 0.1, .momentum = 0.8, .nesterov = true, .l2 = 0.01});
             muon.set_schedule(
                 std::make_shared<OneCycle>(OneCycleOptions{.peak_rate = 1.0, .total_steps = 6}));
             sgd.set_schedule(std::make_shared<PolynomialDecay>(
                 PolynomialDecayOptions{.initial_rate = 1.0, .decay_steps = 4, .end_rate = 0.0}));
             return std::make_unique<OptimizerGroups>(optimizer_group("*/kernel", std::move(muon)),
                                                      optimizer_group("*", std::move(sgd)));
           },
       .callbacks =
           [] {
             Callbacks callbacks;
             add<LearningRateWarmup>(callbacks, LearningRateWarmupOptions{.scale = 4, .warmup_epochs = 2});
             return callbacks;
           },
       .fit = {.epochs = 2}});
}

TEST(Resume, PlateauBetweenTwoDecisions) {
  expect_resumes_anywhere(
      {.optimizer = [] { return std::make_unique<Adadelta>(); },
       .callbacks =
           [] {
             Callbacks callbacks;
             // Nothing is an improvement by 10: a decision every two epochs.
             add<ReduceLROnPlateau>(
                 callbacks,
                 ReduceLROnPlateauOptions{.factor = 0.5, .patience = 2, .min_delta = 10, .cooldown = 1});
             return callbacks;
           },
       .fit = {.epochs = 4},
       .with_validation = true});
}

TEST(Resume, EarlyStoppingGoesBackToTheBestWeights) {
  const Job job{
      .optimizer =
          [] {
            return std::make_unique<RMSprop>(RMSpropOptions{
                .learning_rate = 0.02, .momentum = 0.5, .centered = true, .epsilon_inside_sqrt = false});
          },
      .callbacks =
          [] {
            Callbacks callbacks;
            add<EarlyStopping>(callbacks, EarlyStoppingOptions{
                                              .min_delta = 10, .patience = 2, .restore_best_weights = true});
            return callbacks;
          },
      .fit = {.epochs = 20},
      .with_validation = true};
  expect_resumes_anywhere(job);
  const TempDir dir(memory_directory());
  EXPECT_EQ(train(job, dir.path()).history.epochs.size(), 3u) << "it did not stop, so it proves nothing";
}

TEST(Resume, RatesThatBuildOnEachOther) {
  expect_resumes_anywhere({.optimizer = [] { return std::make_unique<Adagrad>(); },
                           .callbacks =
                               [] {
                                 Callbacks callbacks;
                                 add<LearningRateScheduler>(
                                     callbacks,
                                     LearningRateSchedulerOptions{
                                         .schedule = [](std::int64_t, double rate) { return 0.8 * rate; }});
                                 return callbacks;
                               },
                           .fit = {.epochs = 2}});
}

/// Knows nothing of resuming.
class Halving : public Callback {
 public:
  void on_epoch_begin(std::int64_t) override {
    Optimizer& optimizer = model().optimizer();
    optimizer.set_learning_rate(0.5 * optimizer.learning_rate());
  }
};

TEST(Resume, ARateThatAUsersCallbackSets) {
  expect_resumes_anywhere({.callbacks =
                               [] {
                                 Callbacks callbacks;
                                 add<Halving>(callbacks);
                                 return callbacks;
                               },
                           .fit = {.epochs = 2}});
}

/// Belongs to runs of one kind.
class OfKind : public Callback {
 public:
  OfKind(std::int64_t kind, std::atomic<int>& begun) : kind_(kind), begun_(begun) {}
  void on_train_begin(Model&, const TrainingPlan&) override { ++begun_; }
  std::string state_name() const override { return "kind"; }
  CallbackState state() const override { return {{{"kind", kind_}}, {}}; }
  void require_same_run(const CallbackState& state) const override {
    const std::int64_t before = ConfigValue(state.values).at("kind").as_int();
    require<UsageError>(before == kind_, "kind ", before, " is not ", kind_);
  }

 private:
  std::int64_t kind_;
  std::atomic<int>& begun_;
};

TEST(Resume, ACallbackRefusesAnotherRunBeforeAnythingBegins) {
  for (const int ranks : {1, 3}) {
    const TempDir dir(memory_directory());
    std::atomic<int> begun = 0;
    const auto job_of = [&](std::int64_t kind) {
      return Job{.callbacks =
                     [&begun, kind] {
                       Callbacks callbacks;
                       add<OfKind>(callbacks, 1, begun);
                       add<OfKind>(callbacks, kind, begun);
                       return callbacks;
                     },
                 .fit = {.epochs = 2},
                 .ranks = ranks};
    };
    train(job_of(2), dir.path());
    begun = 0;
    const auto before = files_in(dir);
    try {
      train(job_of(3), dir.path(), dir / "1.h5");
      ADD_FAILURE() << "goes on";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "kind 2 is not 3");
    }
    EXPECT_EQ(begun, 0);
    EXPECT_TRUE(files_in(dir) == before);
    train(job_of(2), dir.path(), dir / "1.h5");
    EXPECT_EQ(begun, 2 * ranks);
  }
}

std::unique_ptr<Sequential> normalised_net() {
  return std::make_unique<Sequential>(Conv2D({.filters = 3}), BatchNormalization({.momentum = 0.5}),
                                      Flatten(), Dropout(0.3),
                                      Dense({.units = 3, .activation = Activation::softmax}));
}

TEST(Resume, MovingStatisticsOnSeveralRanks) {
  for (const int ranks : {1, 3}) {
    SCOPED_TRACE(ranks);
    expect_resumes_anywhere(
        {.net = normalised_net, .fit = {.epochs = 2}, .ranks = ranks, .with_validation = true});
  }
}

TEST(Resume, StepsAcrossPassesOfTheData) {
  expect_resumes_anywhere(
      {.fit = {.epochs = 3, .steps_per_epoch = 2, .repeat = true, .micro_batch = 2}, .ranks = 2});
}

// Saves fall behind the last batch of an update; a run that was stopped there goes on with a fresh sum.
TEST(Resume, UpdatesOfSeveralBatches) {
  for (const bool deterministic : {false, true})
    expect_resumes_anywhere(
        {.net = normalised_net,
         .fit = {.epochs = 3, .backward_passes_per_step = 2, .deterministic = deterministic},
         .ranks = 2});
}

TEST(Resume, SynchronizedStatistics) {
  expect_resumes_anywhere({.net =
                               [] {
                                 return std::make_unique<Sequential>(
                                     Flatten(), BatchNormalization({.momentum = 0.5, .synchronized = true}),
                                     Dense({.units = 3, .activation = Activation::softmax}));
                               },
                           .fit = {.epochs = 2},
                           .ranks = 3});
}

TEST(Resume, AugmentedPasses) {
  const Augment augment(RandomShift({.width_shift_range = 0.2, .height_shift_range = 0.2}),
                        RandomFlip({.horizontal_flip = true}));
  expect_resumes_anywhere({.fit = {.epochs = 1, .passes = 2, .augmentation = &augment}, .ranks = 2});
}

TEST(Resume, DeterministicRunsOnAnotherNumberOfRanks) {
  expect_resumes_anywhere({.net = normalised_net,
                           .fit = {.epochs = 2, .deterministic = true, .virtual_shards = 4},
                           .ranks = 2,
                           .resumed_ranks = 3,
                           .with_validation = true});
}

}  // namespace
}  // namespace ronde::test
