// NaN and infinity in gradients: back to the last good file, on all ranks together.
#include <filesystem>

#include <ronde/distributed/self_communicator.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/preemption.h>

#include "models/training/non_finite_testing.h"

namespace ronde::test::non_finite {
namespace {

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

TEST(NonFinite, RollbackForgetsWhatWasMeantForTheMomentumOfTheBadStep) {
  const TempDir dir(memory_directory());
  SelfCommunicator world;
  Model model = make_model(world);
  ModelCheckpoint files({.filepath = dir / "{batch}.h5", .save_steps = 2});
  std::vector<double> factors;  // as each step finds them
  LambdaCallback correction({.on_train_batch_begin = [&](std::int64_t) {
    factors.push_back(model.optimizer().counters().momentum_factor);
    if (factors.size() == 4) model.optimizer().scale_momentum_once(0.5);
  }});
  FitOptions fit = options(NonFiniteAction::rollback);
  fit.epochs = 2;
  fit.callbacks = {&files, &correction};
  fit.warn = [](const std::string&) {};
  fit.non_finite.limit = 9;
  model.fit(rows(24, 20), fit);  // the fourth step of each epoch goes back
  EXPECT_EQ(factors, std::vector<double>(factors.size(), 1.0));
  EXPECT_GT(factors.size(), 4u);
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

}  // namespace
}  // namespace ronde::test::non_finite
