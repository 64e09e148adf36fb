// NaN and infinity in gradients: what the policies do, and that all ranks do it together.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include <ronde/core/ops.h>
#include <ronde/data/virtual_shards.h>
#include <ronde/distributed/self_communicator.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/preemption.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/regression_loss.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kBatch = 6;

/// `samples` rows (3,) with numbers as targets; the values of one row of the inputs may be bad.
InMemoryDataset rows(std::int64_t samples, std::int64_t bad_sample = -1, double bad = kNaN,
                     std::int64_t another_bad = -1) {
  std::vector<double> inputs, targets;
  for (std::int64_t i = 0; i < samples; ++i) {
    for (int k = 0; k < 3; ++k)
      inputs.push_back(i == bad_sample || i == another_bad ? bad
                                                           : std::sin(0.7 * static_cast<double>(i) + k));
    targets.push_back(std::cos(static_cast<double>(i)));
  }
  return {Tensor::from<double>({samples, 3}, inputs, &backend("cpu")),
          Tensor::from<double>({samples, 1}, targets, &backend("cpu"))};
}

struct Ways {
  const char* name;
  DistributedOptions distributed = {};
  bool deterministic = false;
};

Model make_model(Communicator& world, const DistributedOptions& distributed = {},
                 std::unique_ptr<Loss> loss = std::make_unique<MeanSquaredError>()) {
  Model model(std::make_unique<Sequential>(BatchNormalization(), Dense({.units = 1})), {3},
              {.communicator = &world, .dtype = DType::f64, .backend = &backend("cpu")});
  model.compile({.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.05}),
                 .loss = std::move(loss),
                 .distributed = distributed});
  return model;
}

FitOptions options(NonFiniteAction action) {
  return {.global_batch_size = kBatch,
          .epochs = 1,
          .shuffle = false,
          .non_finite = {.action = action, .limit = 3},
          .verbose = 0};
}

const std::vector<Ways> kWays{{"plain"},
                              {"deterministic", {}, true},
                              {"sharded", {.state = StateLayout::sharded}},
                              {"half", {.compression = compression::Bf16{}}},
                              {"local steps", {.local_steps = {.period = 4}}},
                              {"top k", {.compression = compression::TopK{.ratio = 0.5}}}};

/// Of three, the one that has the sample at this place of a batch of 6.
int rank_of(int place, bool deterministic) {
  if (!deterministic) return place % 3;
  for (int rank = 0; rank < 3; ++rank)  // one sample in each of the first shards
    if (VirtualShards(16, rank, 3).first <= place && place < VirtualShards(16, rank, 3).last) return rank;
  return -1;
}

TEST(NonFinite, AbortNamesStepRankAndSampleOnAllRanksAndLeavesTheWeights) {
  for (const Ways& way : kWays) {
    if (way.distributed.local_steps.period > 1) continue;
    for (const std::int64_t bad : {12, 15, 17}) {  // of the third step; of rank 0, 1 and 2
      SCOPED_TRACE(cat(way.name, ", sample ", bad));
      const InMemoryDataset data = rows(30, bad);
      test::run_ranks(3, [&](Communicator& world) {
        Model model = make_model(world, way.distributed);
        std::string before;
        LambdaCallback watch(
            {.on_train_batch_begin = [&](std::int64_t) { before = model.weights_sha256(); }});
        FitOptions fit = options(NonFiniteAction::abort);
        fit.deterministic = way.deterministic;
        fit.callbacks = {&watch};
        try {
          model.fit(data, fit);
          ADD_FAILURE() << "it went on";
        } catch (const CollectiveError& error) {
          EXPECT_EQ(error.status(), ExitStatus::non_finite);
          const int rank = rank_of(static_cast<int>(bad - 12), way.deterministic);
          EXPECT_EQ(error.rank(), rank);
          EXPECT_EQ(std::string(error.what()), cat("[fit] step 3 (3 of epoch 1) is not finite: rank ", rank,
                                                   ": the input of sample ", bad, " is nan"));
        }
        EXPECT_EQ(model.progress().steps, 2);
        // The moving statistics have seen the step; they are not trained.
        EXPECT_TRUE(std::isfinite(model.optimizer().slots()[0].values.to_vector<double>()[0]));
        for (const double weight : model.arena().values().to_vector<double>())
          EXPECT_TRUE(std::isfinite(weight));
      });
    }
  }
}

TEST(NonFinite, AbortBetweenLocalStepsIsOneRanksErrorOfWhichTheOthersHear) {
  const InMemoryDataset data = rows(30, 13);
  const auto errors = test::run_ranks_collecting(2, [&](Communicator& world) {
    Model model = make_model(world, {.local_steps = {.period = 4}});
    model.fit(data, options(NonFiniteAction::abort));
  });
  for (const auto& error : errors) ASSERT_TRUE(error);
  const std::string message = message_of<Error>([&] { std::rethrow_exception(errors[1]); });
  EXPECT_EQ(message, "[fit] step 3 (3 of epoch 1) is not finite: rank 1: the input of sample 13 is nan");
}

/// The weights and statistics after a fit of `data` on `ranks` ranks, the loss, and the warnings.
struct Outcome {
  std::string weights;
  double loss = 0.0;
  std::vector<std::string> warnings;
};

Outcome train(int ranks, const InMemoryDataset& data, const Ways& way, const FitOptions& fit_options) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  test::run_ranks(ranks, [&](Communicator& world) {
    Model model = make_model(world, way.distributed);
    FitOptions fit = fit_options;
    fit.deterministic = way.deterministic;
    Outcome& outcome = outcomes[static_cast<std::size_t>(world.rank())];
    fit.warn = [&](const std::string& text) { outcome.warnings.push_back(text); };
    outcome.loss = model.fit(data, fit).values.at("loss").back();
    outcome.weights = model.weights_sha256();
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.weights, outcomes[0].weights) << way.name;
  return outcomes[0];
}

TEST(NonFinite, ASkippedStepIsAsIfItsSamplesWereNotThere) {
  for (const Ways& way : kWays) {
    SCOPED_TRACE(way.name);
    // The last of three steps, so that the run without it is the run of the samples before.
    const Outcome skipped = train(3, rows(18, 14), way, options(NonFiniteAction::skip));
    const Outcome expected = train(3, rows(12), way, options(NonFiniteAction::skip));
    EXPECT_EQ(skipped.weights, expected.weights);
    EXPECT_EQ(skipped.loss, expected.loss);
    ASSERT_EQ(skipped.warnings.size(), 1u);
    EXPECT_EQ(skipped.warnings[0],
              cat("[fit] step 3 (3 of epoch 1) is not finite: rank ", rank_of(2, way.deterministic),
                  ": the input of sample 14 is nan; skipped (1 of 3)"));
    EXPECT_TRUE(expected.warnings.empty());
  }
}

// What compression has left over of it is left out too: else the next step would have it.
TEST(NonFinite, NothingOfASkippedStepIsLeftOver) {
  const Outcome outcome = train(2, rows(24, 8), kWays.back(), options(NonFiniteAction::skip));
  EXPECT_EQ(outcome.warnings.size(), 1u);
  EXPECT_TRUE(std::isfinite(outcome.loss));
}

TEST(NonFinite, SkippingGoesOnAndEndsAtItsLimit) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Outcome once = train(2, rows(24, 7, infinity), kWays[0], options(NonFiniteAction::skip));
  EXPECT_EQ(once.warnings.size(), 1u);
  EXPECT_TRUE(std::isfinite(once.loss));

  FitOptions fit = options(NonFiniteAction::skip);
  fit.epochs = 3;  // 1 of 4 steps is bad in each, so never 3 in a row
  EXPECT_EQ(train(2, rows(24, 7), kWays[0], fit).warnings.size(), 3u);
  fit.global_batch_size = 24;  // all steps are bad
  const std::string message = message_of<CollectiveError>([&] { train(2, rows(24, 7), kWays[0], fit); });
  EXPECT_EQ(
      message,
      "[fit] step 3 (1 of epoch 3) is not finite: rank 1: the input of sample 7 is nan; this has happened "
      "3 times in a row");
}

TEST(NonFinite, AnEpochWhoseStepsWereAllSkippedHasNoMeans) {
  FitOptions fit = options(NonFiniteAction::skip);
  fit.epochs = 2;  // of one step, which is bad
  test::run_ranks(2, [&](Communicator& world) {
    Model model(std::make_unique<Sequential>(Dense({.units = 2, .activation = Activation::softmax})), {3},
                {.communicator = &world, .dtype = DType::f64, .backend = &backend("cpu")});
    model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{}),
                   .loss = std::make_unique<CategoricalCrossentropy>()});
    const InMemoryDataset bad(Tensor::full({6, 3}, kNaN, {.dtype = DType::f64, .backend = &backend("cpu")}),
                              Tensor::zeros({6}, {.dtype = DType::i32, .backend = &backend("cpu")}));
    fit.warn = [](const std::string&) {};
    const History history = model.fit(bad, fit);
    for (const char* name : {"loss", "accuracy"}) {
      ASSERT_EQ(history.values.at(name).size(), 2u);
      for (const double value : history.values.at(name)) EXPECT_TRUE(std::isnan(value)) << name << value;
    }
  });
}

TEST(NonFinite, TheCountOfStepsInARowGoesOnInAResumedRun) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = rows(6, 3);  // every step is bad
  SelfCommunicator world;
  const auto train_to = [&](std::int64_t epochs, bool resume) {
    Model model = make_model(world);
    if (resume) model.load_weights(dir / "model.h5");
    FitOptions fit = options(NonFiniteAction::skip);
    fit.epochs = epochs;
    fit.resume = resume;
    fit.warn = [](const std::string&) {};
    model.fit(data, fit);
    model.save(dir / "model.h5");
  };
  train_to(1, false);
  train_to(2, true);
  EXPECT_THROW(train_to(3, true), CollectiveError) << "the third in a row";
}

TEST(NonFinite, ReturnsAreCountedFromTheFileThatARunGoesOnWith) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = rows(24, 8, kNaN, 20);  // the steps 2 and 4 of 4
  SelfCommunicator world;
  const auto warnings = [&](const std::string& resumed) {
    Model model = make_model(world);
    if (!resumed.empty()) model.load_weights(resumed);
    ModelCheckpoint files({.filepath = dir / "{batch}.h5", .save_steps = 1});
    std::vector<std::string> lines;
    FitOptions fit = options(NonFiniteAction::rollback);
    fit.resume = !resumed.empty();
    fit.callbacks = {&files};
    fit.warn = [&](const std::string& text) { lines.push_back(text); };
    model.fit(data, fit);
    return lines;
  };
  const std::vector<std::string> all = warnings("");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[1].find("3.h5 (step 3), and on with the next samples (1 of 3)"), std::string::npos) << all[1];
  EXPECT_EQ(warnings(dir / "3.h5"), std::vector<std::string>{all[1]});
}

TEST(NonFinite, RollbackGoesToTheLastFileAndOnWithTheNextSamples) {
  for (const Ways& way : kWays) {
    if (has_error_feedback(way.distributed.compression)) continue;  // its memory is in no file
    SCOPED_TRACE(way.name);
    const TempDir dir(memory_directory());
    // Files after the steps 2 and 4; the fourth step is bad, so the second's file is what is gone back to.
    FitOptions fit = options(NonFiniteAction::rollback);
    std::vector<Outcome> outcomes(2);
    test::run_ranks(2, [&](Communicator& world) {
      Model model = make_model(world, way.distributed);
      ModelCheckpoint files({.filepath = dir / "{batch}.h5", .save_steps = 2});
      FitOptions mine = fit;
      mine.deterministic = way.deterministic;
      mine.callbacks = {&files};
      Outcome& outcome = outcomes[static_cast<std::size_t>(world.rank())];
      mine.warn = [&](const std::string& text) { outcome.warnings.push_back(text); };
      model.fit(rows(24, 20), mine);
      outcome.weights = model.weights_sha256();
    });
    EXPECT_EQ(outcomes[0].weights, outcomes[1].weights);
    EXPECT_EQ(outcomes[0].weights, train(2, rows(12), way, fit).weights);
    ASSERT_EQ(outcomes[0].warnings.size(), 1u);
    EXPECT_EQ(
        outcomes[0].warnings[0],
        cat("[fit] step 4 (4 of epoch 1) is not finite: rank 0: the input of sample 20 is nan; back to ",
            dir / "2.h5", " (step 2), and on with the next samples (1 of 3)"));
  }
}

TEST(NonFinite, RollbackGoesToWhatWasSavedForASignalToo) {
  const TempDir dir(memory_directory());
  SelfCommunicator world;
  Model model = make_model(world);
  constexpr int kSave = 1;  // as for SIGUSR1
  LambdaCallback signal({.on_train_batch_end = [&](std::int64_t batch, const Logs&) {
    if (batch == 1) world.raise_notice(kSave);
  }});
  Preemption preemption({.filepath = dir / "on-signal.h5"});
  FitOptions fit = options(NonFiniteAction::rollback);
  fit.callbacks = {&signal, &preemption};
  std::vector<std::string> warnings;
  fit.warn = [&](const std::string& text) { warnings.push_back(text); };
  model.fit(rows(24, 20), fit);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(cat("; back to ", dir / "on-signal.h5", " (step 2), and on")), std::string::npos)
      << warnings[0];
}

TEST(NonFinite, RollbackPassesOverADamagedFileAndNeedsOne) {
  const TempDir dir(memory_directory());
  FitOptions fit = options(NonFiniteAction::rollback);
  EXPECT_NE(message_of<CollectiveError>([&] {
              train(2, rows(12, 7), kWays[0], fit);
            }).find("sample 7 is nan; there is no checkpoint to go back to"),
            std::string::npos);

  SelfCommunicator world;
  Model model = make_model(world);
  ModelCheckpoint files({.filepath = dir / "{batch}.h5", .save_steps = 1});
  const std::string newest = dir / "3.h5";
  LambdaCallback damage({.on_train_batch_begin = [&](std::int64_t batch) {
    if (batch != 3) return;
    while (!std::filesystem::exists(newest)) std::this_thread::yield();  // it is being written
    std::filesystem::resize_file(newest, 100);
  }});
  std::vector<std::string> warnings;
  fit.callbacks = {&files, &damage};
  fit.warn = [&](const std::string& text) { warnings.push_back(text); };
  model.fit(rows(24, 20), fit);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(warnings[0].starts_with(cat("cannot go back to ", newest, ": "))) << warnings[0];
  EXPECT_NE(warnings[1].find(cat("; back to ", dir / "2.h5", " (step 2), and on")), std::string::npos)
      << warnings[1];
  EXPECT_EQ(model.progress().steps, 4);
}

TEST(NonFinite, RollbackTriesAFileOnceHoweverOftenItWasWritten) {
  const TempDir dir(memory_directory());
  SelfCommunicator world;
  Model model = make_model(world);
  const std::string file = dir / "model.h5";
  ModelCheckpoint files({.filepath = file, .save_steps = 1});
  LambdaCallback damage({.on_train_batch_begin = [&](std::int64_t batch) {
    if (batch != 3) return;
    while (Model::load(file).progress().steps < 3) std::this_thread::yield();
    std::filesystem::resize_file(file, 100);
  }});
  std::vector<std::string> warnings;
  FitOptions fit = options(NonFiniteAction::rollback);
  fit.callbacks = {&files, &damage};
  fit.warn = [&](const std::string& text) { warnings.push_back(text); };
  EXPECT_NE(message_of<CollectiveError>([&] {
              model.fit(rows(24, 20), fit);
            }).find("there is no checkpoint to go back to"),
            std::string::npos);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(NonFinite, RollbackLeavesTheRateThatACallbackHasChosen) {
  const TempDir dir(memory_directory());
  SelfCommunicator world;
  Model model = make_model(world);
  ModelCheckpoint files({.filepath = dir / "{batch}.h5", .save_steps = 2});
  LambdaCallback rate({.on_train_batch_begin = [&](std::int64_t batch) {
    if (batch == 2) model.optimizer().set_learning_rate(0.01);
  }});
  FitOptions fit = options(NonFiniteAction::rollback);
  fit.callbacks = {&files, &rate};
  fit.warn = [](const std::string&) {};
  model.fit(rows(24, 20), fit);  // the fourth step goes back to the second
  EXPECT_EQ(model.optimizer().learning_rate(), 0.01);
}

TEST(NonFinite, RollbackGoesFurtherBackWhereThatLedToTheSameAgain) {
  const TempDir dir(memory_directory());
  SelfCommunicator world;
  Model model = make_model(world);
  ModelCheckpoint files({.filepath = dir / "{batch}.h5", .save_steps = 1});
  std::vector<std::string> warnings;
  FitOptions fit = options(NonFiniteAction::rollback);
  fit.callbacks = {&files};
  fit.warn = [&](const std::string& text) { warnings.push_back(text.substr(text.find("; back"))); };
  model.fit(rows(48, 20, kNaN, 26), fit);  // the steps 4 and 5, of 8
  const auto back_to = [&](int step, int count) {
    return cat("; back to ", dir / std::to_string(step), ".h5 (step ", step,
               "), and on with the next samples (", count, " of 3)");
  };
  EXPECT_EQ(warnings, (std::vector<std::string>{back_to(3, 1), back_to(2, 2)}));
  EXPECT_FALSE(std::filesystem::exists(dir / "4.h5")) << "nothing was learned in that step";
  EXPECT_TRUE(std::filesystem::exists(dir / "6.h5"));
}

/// A loss of 0 whose gradient is 0 / 0: sqrt((y - t)^2) where y = t.
class NaNGradient : public Loss {
 public:
  std::string name() const override { return "nan_gradient"; }
  Variable operator()(const Variable& output, const Tensor&) const override {
    return sqrt(square(sum(output - output, {.axes = {1}})));
  }
};

/// NaN, with a gradient of 1.
class NaNLoss : public Loss {
 public:
  std::string name() const override { return "nan_loss"; }
  Variable operator()(const Variable& output, const Tensor&) const override {
    return sum(output, {.axes = {1}}) + kNaN;
  }
};

TEST(NonFinite, ALossThatIsWorseThanItsGradientIsFoundToo) {
  for (const int ranks : {1, 2})
    test::run_ranks(ranks, [](Communicator& world) {
      Model model = make_model(world, {}, std::make_unique<NaNLoss>());
      const std::string message =
          message_of<CollectiveError>([&] { model.fit(rows(6), options(NonFiniteAction::abort)); });
      EXPECT_TRUE(message.starts_with("[fit] step 1 (1 of epoch 1) is not finite: rank 0: the loss of all "))
          << message;
    });
}

TEST(NonFinite, AGradientThatIsWorseThanItsLossIsFoundToo) {
  SelfCommunicator world;
  Model model = make_model(world, {}, std::make_unique<NaNGradient>());
  EXPECT_EQ(message_of<CollectiveError>([&] { model.fit(rows(6), options(NonFiniteAction::abort)); }),
            "[fit] step 1 (1 of epoch 1) is not finite: rank 0: the losses are finite, but the gradient of "
            "dense/bias is nan");
}

/// What a training of one step over these rows says of it.
std::string said_of(const std::vector<double>& inputs, const std::vector<double>& targets) {
  const auto n = static_cast<std::int64_t>(targets.size());
  std::vector<double> wide;
  for (const double x : inputs) wide.insert(wide.end(), {x, 1.0, 2.0});
  const InMemoryDataset data(Tensor::from<double>({n, 3}, wide, &backend("cpu")),
                             Tensor::from<double>({n, 1}, targets, &backend("cpu")));
  SelfCommunicator world;
  Model model = make_model(world);
  FitOptions fit = options(NonFiniteAction::abort);
  fit.global_batch_size = n;
  const std::string text = message_of<CollectiveError>([&] { model.fit(data, fit); });
  const std::string begin = "[fit] step 1 (1 of epoch 1) is not finite: rank 0: ";
  return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

TEST(NonFinite, SamplesAreCountedWhereThereAreMany) {
  const std::string smaller = ": a smaller learning rate may help";
  EXPECT_EQ(said_of({1, 2, kNaN, 4, kNaN}, {1, 2, 3, 4, 5}), "the input of samples 2, 4 are nan");
  EXPECT_EQ(said_of({1, kNaN, kNaN}, {1, 2, 3}), "the input of samples 1, 2 are nan" + smaller);
  EXPECT_EQ(said_of({kNaN, kNaN}, {1, 2}), "the input of all 2 samples is nan" + smaller);
  EXPECT_EQ(said_of({kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, 1}, {1, 2, 3, 4, 5, 6, 7, 8}),
            "the input of samples 0, 1, 2, 3, 4 and 2 more are nan" + smaller);
}

TEST(NonFinite, LossesAreNamedWhereTheInputsAreGood) {
  EXPECT_EQ(said_of({1, 2, 3}, {1, kNaN, 3}), "the loss of sample 1 is nan");
  EXPECT_EQ(said_of({1, 2, 3}, {1, 2, 1e200}), "the loss of sample 2 is infinite");
  EXPECT_EQ(said_of({1, 2, 3}, {1e154, 1e154, 1}),
            "the loss of each sample is finite, but their sum is infinite: a smaller learning rate may help");
}

TEST(NonFinite, WeightsThatAreAlreadyBadAreNamed) {
  SelfCommunicator world;
  Model model = make_model(world);
  LambdaCallback spoil({.on_train_batch_begin = [&](std::int64_t batch) {
    if (batch == 1) model.arena().values().view(0, {1}).fill(kNaN);
  }});
  FitOptions fit = options(NonFiniteAction::abort);
  fit.callbacks = {&spoil};
  EXPECT_NE(message_of<CollectiveError>([&] { model.fit(rows(12), fit); }).find("step 2 (2 of epoch 1)"),
            std::string::npos);
}

}  // namespace
}  // namespace ronde::testing
