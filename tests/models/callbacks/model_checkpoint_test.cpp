#include <ronde/models/model_checkpoint.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include <ronde/core/ops.h>
#include <ronde/models/file_io.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/save_point.h>
#include <ronde/nn/dense.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

std::set<std::string> files_in(const TempDir& dir) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    names.insert(entry.path().filename());
  return names;
}

/// Without the pauses, " (paused for 1.2 ms)", which each saved file must have reported.
std::string without_pauses(std::string text, int expected) {
  const std::string begin = " (paused for ", end = " ms)\n";
  int found = 0;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++found) {
    const std::size_t number = at + begin.size(), after = text.find(end, number);
    EXPECT_NE(after, std::string::npos) << text;
    EXPECT_EQ(text.find_first_not_of("0123456789.", number), after) << text;
    text.erase(at, after + end.size() - 1 - at);
  }
  EXPECT_EQ(found, expected);
  return text;
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
  EXPECT_EQ(without_pauses(text, 2), "\nEpoch 1: saving model to " + (dir / "01-0.46.h5") +
                                         "\n\nEpoch 2: saving model to " + (dir / "02-0.10.h5") + "\n");
  EXPECT_EQ(checkpoint.last_path(), dir / "02-0.10.h5");
  EXPECT_GT(checkpoint.last_pause_seconds(), 0.0);
}

TEST(ModelCheckpoint, SavesOnlyTheBestAndSaysSo) {
  const TempDir dir;
  const std::string path = dir / "best.h5";
  ModelCheckpoint checkpoint({.filepath = path, .verbose = 1, .save_best_only = true});
  const std::string text = printed([&] {
    run_epochs("val_loss", {0.0512, 0.0431, 0.0431, 0.04}, {&checkpoint});
  });
  EXPECT_EQ(without_pauses(text, 3),
            "\nEpoch 1: val_loss improved from inf to 0.05120, saving model to " + path +
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

TEST(ModelCheckpoint, AResumedRunKnowsTheBestSoFar) {
  const TempDir dir;
  const ModelCheckpointOptions options{.filepath = dir / "{epoch}.h5", .save_best_only = true};
  ModelCheckpoint first(options), second(options);
  EXPECT_FALSE(first.best());
  run_epochs("val_loss", {0.5, 0.3, 0.4}, {&first});
  second.restore(first.state());
  EXPECT_EQ(second.best(), 0.3);
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

TEST(ModelCheckpoint, SavesAfterTheLastStepOutsideOfItsRhythm) {
  const TempDir dir;
  ModelCheckpoint checkpoint({.filepath = dir / "{epoch}-{batch}.h5", .save_steps = 3, .save_last = true});
  Model model = small_model();
  model.fit(small_images(16), {.batch_size = 4, .epochs = 2, .callbacks = {&checkpoint}, .verbose = 0});
  EXPECT_EQ(files_in(dir), (std::set<std::string>{"1-3.h5", "2-2.h5", "2-4.h5"}));
  EXPECT_EQ(ConfigValue(checkpoint.state().values).at("steps_since_save").as_int(), 2);
}

// A full disk: what was not written takes no place among those that stay.
TEST(ModelCheckpoint, KeepsAsManyAsWereWritten) {
  const TempDir dir;
  ModelCheckpoint checkpoint({.filepath = dir / "{epoch}.h5", .keep = 2});
  Model model = small_model();
  const TrainingPlan plan{.epochs = 3};
  checkpoint.attach(model, plan);
  checkpoint.on_train_begin(model, plan);
  for (const std::int64_t epoch : {0, 1, 2}) {
    SavePoint point(epoch, -1, [] { return Logs(); });
    checkpoint.on_save_point(point);
    ASSERT_EQ(point.orders().size(), 1u);
    const bool written = epoch != 1;
    if (written) atomic_write_file(point.orders()[0].path, "a checkpoint");
    point.orders()[0].on_settled({.written = written, .problem = ""});
  }
  checkpoint.on_train_end({});
  EXPECT_EQ(files_in(dir), (std::set<std::string>{"1.h5", "3.h5"}));
}

TEST(ModelCheckpoint, KeepsTheBestAndTheNewest) {
  const TempDir dir;
  ModelCheckpoint best({.filepath = dir / "best-{epoch}.h5", .verbose = 1, .keep_best = 2});
  ModelCheckpoint both({.filepath = dir / "both-{epoch}.h5", .keep = 1, .keep_best = 1});
  const std::string text = printed([&] {
    run_epochs("val_loss", {0.5, 0.3, 0.4, 0.6, 0.4}, {&best, &both});
  });
  EXPECT_EQ(files_in(dir), (std::set<std::string>{"best-2.h5", "best-3.h5", "both-2.h5", "both-5.h5"}));
  EXPECT_NE(text.find("\nEpoch 4: val_loss is not among the best 2\n"), std::string::npos) << text;
  EXPECT_EQ(best.best(), 0.3);
}

/// Trains 3 epochs more from `file`, with val_loss being `value`.
void go_on(const std::string& file, ModelCheckpoint& checkpoint, double value) {
  Model model = small_model();
  model.load_weights(file);
  const InMemoryDataset data = small_images(8);
  LambdaCallback script({.on_epoch_end = [&](std::int64_t, Logs& logs) { logs.set("val_loss", value); }});
  model.fit(data, {.batch_size = 4,
                   .epochs = 6,
                   .resume = true,
                   .validation = &data,
                   .callbacks = {&script, &checkpoint},
                   .verbose = 0});
}

// A copy of a folder, or a file from it, goes on elsewhere: the files that it names are not that run's.
TEST(ModelCheckpoint, ARunThatGoesOnElsewhereDeletesNothingWhereItWas) {
  const TempDir first, copy, other;
  ModelCheckpoint before({.filepath = first / "{epoch}.h5", .keep = 2});
  run_epochs("val_loss", {0.5, 0.3, 0.4}, {&before});
  const std::set<std::string> had = files_in(first);
  EXPECT_EQ(had, (std::set<std::string>{"2.h5", "3.h5"}));
  std::filesystem::copy(first.path(), copy.path());

  ModelCheckpoint in_copy({.filepath = copy / "{epoch}.h5", .keep = 2});
  go_on(copy / "3.h5", in_copy, 0.2);
  EXPECT_EQ(files_in(first), had);
  EXPECT_EQ(files_in(copy), (std::set<std::string>{"5.h5", "6.h5"})) << "its own old ones count";

  ModelCheckpoint in_other({.filepath = other / "{epoch}.h5", .keep = 1});
  go_on(first / "3.h5", in_other, 0.2);
  EXPECT_EQ(files_in(first), had);
  EXPECT_EQ(files_in(other), (std::set<std::string>{"6.h5"}));
}

TEST(ModelCheckpoint, BestFilesThatAreElsewhereTakeNoPlace) {
  const TempDir first, other;
  ModelCheckpoint before({.filepath = first / "{epoch}.h5", .keep_best = 2});
  run_epochs("val_loss", {0.1, 0.2, 0.15}, {&before});
  ModelCheckpoint elsewhere({.filepath = other / "{epoch}.h5", .keep_best = 2});
  go_on(first / "3.h5", elsewhere, 0.5);
  EXPECT_EQ(files_in(other), (std::set<std::string>{"4.h5", "5.h5"}));

  ModelCheckpoint none({.filepath = other / "{epoch}.h5", .save_best_only = true});
  go_on(first / "3.h5", none, 0.5);
  EXPECT_EQ(none.last_path(), "") << "of the run before, but not there";
  ModelCheckpoint here({.filepath = first / "{epoch}.h5", .save_best_only = true});
  go_on(first / "3.h5", here, 0.5);
  EXPECT_EQ(here.last_path(), first / "3.h5");
}

// SECURITY.md: a file opens no path that it names, and deletes none.
TEST(ModelCheckpoint, OtherPathsOfAStateAreDropped) {
  const TempDir dir;
  ModelCheckpoint checkpoint({.filepath = dir / "own-{epoch}.h5", .keep = 1});
  CallbackState state = checkpoint.state();
  ConfigList files;
  for (const char* name : {"victim.txt", "own-x.h5", "own-1.h5", "away/own-2.h5", "own-3.h5/..", "own-2.h5"})
    files.push_back(ConfigDict{{"path", dir / name}, {"value", 0.5}});
  for (auto& [key, value] : state.values)
    if (key == "files") value = files;
  checkpoint.restore(state);
  const ConfigValue kept(checkpoint.state().values);
  std::vector<std::string> paths;
  for (const ConfigValue& file : kept.at("files").as_list()) paths.push_back(file.at("path").as_string());
  EXPECT_EQ(paths, (std::vector<std::string>{dir / "own-1.h5", dir / "own-2.h5"}));
}

TEST(ModelCheckpoint, BestWithinEpochsIsDecidedOnTheValuesOfAllRanks) {
  const TempDir dir;
  test::run_ranks(2, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    ModelCheckpoint best({.filepath = dir / "{batch}-{loss:.9f}.h5",
                          .monitor = "loss",
                          .save_best_only = true,
                          .save_steps = 2});
    const History history = model.fit(
        small_images(16),
        {.global_batch_size = 4, .epochs = 1, .steps_per_epoch = 4, .callbacks = {&best}, .verbose = 0});
    EXPECT_NEAR(*best.best(), history.values.at("loss")[0], 0.2);
  });
  const SavedModel file = read_saved_model(dir / *files_in(dir).begin());
  ASSERT_TRUE(file.state && file.state->run);
  EXPECT_EQ(file.state->run->epoch_step, 2);
  double sum = 0.0, count = 0.0;
  for (const std::vector<double>& rank : file.state->run->totals) sum += rank.at(0), count += rank.at(1);
  EXPECT_EQ(count, 8.0);
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "2-%.9f.h5", sum / count);
  EXPECT_EQ(*files_in(dir).begin(), name.data());
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
      const std::string name = cat("{epoch}-{accuracy:.1f}-{batch}-of-rank-", world.rank(), ".h5");
      ModelCheckpoint steps({.filepath = dir / name, .verbose = 1, .save_steps = 1});
      run_epochs("val_loss", {0.5}, {&steps}, &world);
      EXPECT_NE(steps.last_path().find("of-rank-0"), std::string::npos);
    });
  });
  ASSERT_EQ(files_in(dir).size(), 1u);
  EXPECT_NE(files_in(dir).begin()->find("-1-of-rank-0"), std::string::npos);
  EXPECT_EQ(without_pauses(text, 1), "\nEpoch 1: saving model to " + (dir / *files_in(dir).begin()) + "\n");
}

TEST(ModelCheckpoint, WrongUsageIsSaidEarly) {
  EXPECT_THROW(ModelCheckpoint({}), UsageError);
  EXPECT_THROW(ModelCheckpoint({.filepath = "{epoch"}), UsageError);
  EXPECT_THROW(ModelCheckpoint({.filepath = "{val_loss:2z}.h5"}), UsageError);
  EXPECT_THROW(ModelCheckpoint({.filepath = "{val_loss:d}.h5"}), UsageError);
  EXPECT_NO_THROW(ModelCheckpoint({.filepath = "{epoch:02d}-{batch:05d}-{own:.2f}.h5"}));
  EXPECT_THROW(ModelCheckpoint({.filepath = "a.safetensors"}), UsageError);
  ModelCheckpoint best({.filepath = "a.h5", .save_best_only = true});
  Model model = small_model();
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(small_images(8), {.callbacks = {&best}, .verbose = 0}); }),
            "[model_checkpoint] monitors val_loss, but fit has no validation data");
  ModelCheckpoint steps({.filepath = "a.h5", .save_best_only = true, .save_steps = 5});
  const InMemoryDataset data = small_images(8);
  EXPECT_EQ(
      message_of<UsageError>(
          [&] { model.fit(data, {.validation = &data, .callbacks = {&steps}, .verbose = 0}); }),
      "[model_checkpoint] monitors val_loss, which is known only at the end of an epoch, but saves within "
      "epochs");
  EXPECT_EQ(model.progress().steps, 0);
}

// An epoch may take hours.
TEST(ModelCheckpoint, NamesThatNoFileCanHaveAreRefusedBeforeTheFirstStep) {
  const InMemoryDataset data = small_images(8);
  Model model = small_model();
  const auto refusal = [&](ModelCheckpointOptions options, const Dataset* validation) {
    ModelCheckpoint checkpoint(std::move(options));
    return message_of<UsageError>(
        [&] { model.fit(data, {.validation = validation, .callbacks = {&checkpoint}, .verbose = 0}); });
  };
  EXPECT_EQ(refusal({.filepath = "{val_loss:.2f}.h5"}, nullptr),
            "[model_checkpoint] {val_loss:.2f}.h5: names val_loss, but fit has no validation data");
  EXPECT_EQ(refusal({.filepath = "{val_accuracy}.h5", .save_steps = 1}, &data),
            "[model_checkpoint] {val_accuracy}.h5: names val_accuracy, which is known only at the end of an "
            "epoch, but saves within epochs");
  EXPECT_EQ(refusal({.filepath = "{epoch}-{batch}.h5"}, nullptr),
            "[model_checkpoint] {epoch}-{batch}.h5: files of whole epochs have no batch; save_steps makes "
            "others");
  EXPECT_EQ(model.progress().steps, 0);
}

struct OwnForward : Module {
  Dense out{{.units = 3, .activation = Activation::softmax}};
  OwnForward() { add_module("out", out); }
  Variable forward(const Variable& x, const Context& context) override {
    return out(reshape(x, {x.size(0), -1}), context);
  }
};

TEST(ModelCheckpoint, ANetThatNoArchiveCanDescribeIsRefusedBeforeTheFirstStep) {
  const TempDir dir;
  const InMemoryDataset data = small_images(8);
  test::run_ranks(2, [&](Communicator& world) {
    Model model(std::make_unique<OwnForward>(), {6, 6, 1}, {.communicator = &world});
    model.compile(small_compile());
    const auto train = [&](const std::string& file, std::int64_t epochs, bool resume) {
      ModelCheckpoint checkpoint({.filepath = dir / file});
      model.fit(
          data,
          {.batch_size = 4, .epochs = epochs, .resume = resume, .callbacks = {&checkpoint}, .verbose = 0});
    };
    EXPECT_EQ(
        message_of<UsageError>([&] { train("best.keras", 1, false); }),
        "[model_checkpoint] " + dir / "best.keras" +
            ": a .keras file describes its net, which is not possible for one with a forward() of its own "
            "or a layer that Keras does not know. Use a name that ends in .h5: that file holds the "
            "weights and all that a training goes on with");
    EXPECT_EQ(model.progress().steps, 0);
    train("best.h5", 1, false);
    const std::string weights = model.weights_sha256();
    model.load_weights(dir / "best.h5");
    EXPECT_EQ(model.weights_sha256(), weights);
    train("best.h5", 2, true);
    EXPECT_EQ(model.progress().epochs, 2);
  });
}

TEST(ModelCheckpoint, AnArchiveIsAWholeModel) {
  EXPECT_EQ(
      message_of<UsageError>([] { ModelCheckpoint({.filepath = "a.keras", .save_weights_only = true}); }),
      "[model_checkpoint] a.keras: a .keras file is a whole model; weights alone go into .weights.h5 or "
      ".h5");
  const TempDir dir;
  ModelCheckpoint whole({.filepath = dir / "a.keras"});
  run_epochs("val_loss", {0.5}, {&whole});
  EXPECT_EQ(whole.last_path(), dir / "a.keras");
  EXPECT_GT(Model::load(dir / "a.keras").progress().steps, 0);
}

TEST(ModelCheckpoint, ACallbackMayAddAValueThatSoundsLikeValidation) {
  const TempDir dir;
  ModelCheckpoint checkpoint({.filepath = dir / "{val_own:.1f}.h5"});
  LambdaCallback own({.on_epoch_end = [](std::int64_t, Logs& logs) { logs.set("val_own", 0.5); }});
  Model model = small_model();
  model.fit(small_images(8), {.callbacks = {&own, &checkpoint}, .verbose = 0});
  EXPECT_EQ(checkpoint.last_path(), dir / "0.5.h5");
}

}  // namespace
}  // namespace ronde::test
