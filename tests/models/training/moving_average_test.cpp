// `fit`, files and resumed runs of optimizers that keep a moving average of the weights.
#include <gtest/gtest.h>

#include <limits>
#include <mutex>

#include <ronde/models/lambda_callback.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/saved_model.h>
#include <ronde/models/swap_ema_weights.h>

#include "models/golden_record.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using Values = std::vector<double>;

std::unique_ptr<Optimizer> averaging_adam() {
  auto adam = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.02});
  adam->set_moving_average({.momentum = 0.8});
  return adam;
}

Model averaging_model(Communicator* world = nullptr, const DistributedOptions& distributed = {}) {
  Model model(small_net(), {6, 6, 1}, {.communicator = world, .seed = 3, .backend = &backend("cpu")});
  model.compile({.optimizer = averaging_adam(),
                 .loss = std::make_unique<CategoricalCrossentropy>(),
                 .distributed = distributed});
  return model;
}

FitOptions quiet(std::int64_t epochs, std::vector<Callback*> callbacks = {}) {
  return {.global_batch_size = 5, .epochs = epochs, .callbacks = std::move(callbacks), .verbose = 0};
}

Values weights_of(Model& model) {
  return model.arena().values().view(0, {model.arena().trainable_size()}).to_vector<double>();
}

Values slot_of(Model& model) {
  return model.optimizer().slots().at(0).values.to_vector<double>();
}

TEST(MovingAverageFit, EndsWithTheAveragesAndKeepsTheTrainedWeights) {
  Model model = averaging_model();
  Values trained, averages;
  LambdaCallback watch({.on_epoch_end = [&](std::int64_t, Logs&) {
    trained = weights_of(model);
    averages = slot_of(model);
  }});
  model.fit(small_images(14), quiet(2, {&watch}));
  ASSERT_NE(trained, averages);
  EXPECT_EQ(weights_of(model), averages);
  EXPECT_EQ(slot_of(model), trained);
  EXPECT_TRUE(model.optimizer().is_averaged());
}

TEST(MovingAverageFit, OfSeveralBatchesPerUpdateIsThatOfOneLargeBatch) {
  Model small = averaging_model(), large = averaging_model();
  FitOptions fit = quiet(3);
  fit.shuffle = false;
  fit.backward_passes_per_step = 3;
  small.fit(small_images(30), fit);
  fit.backward_passes_per_step = 1;
  fit.global_batch_size = 15;
  large.fit(small_images(30), fit);
  EXPECT_EQ(small.optimizer().iterations(), 6);
  for (const auto values : {weights_of, slot_of}) {
    const Values of_small = values(small), of_large = values(large);
    for (std::size_t i = 0; i < of_large.size(); ++i) ASSERT_NEAR(of_small[i], of_large[i], 1e-5) << i;
  }
}

TEST(MovingAverageFit, GoesOnFromTheTrainedWeightsWhenItResumes) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(14);
  Model whole = averaging_model();
  whole.fit(data, quiet(4));

  Model first = averaging_model();
  first.fit(data, quiet(2));
  first.save(dir / "m.h5");
  FitOptions resumed = quiet(4);
  resumed.resume = true;
  first.fit(data, resumed);
  EXPECT_EQ(first.weights_sha256(), whole.weights_sha256()) << "in one process";

  Model second = Model::load(dir / "m.h5", {.backend = &backend("cpu")});
  EXPECT_TRUE(second.optimizer().is_averaged());
  second.fit(data, resumed);
  EXPECT_EQ(second.weights_sha256(), whole.weights_sha256()) << "from a file";
}

TEST(MovingAverageFit, GoesOnFromTheAveragesWhenItDoesNotResume) {
  const InMemoryDataset data = small_images(14);
  Model model = averaging_model(), other = averaging_model();
  model.fit(data, quiet(2));
  other.fit(data, quiet(2));
  for (Model* one : {&model, &other}) one->swap_average(), one->swap_average();
  other.optimizer().keep_average();
  model.fit(data, quiet(1));
  other.fit(data, quiet(1));
  EXPECT_EQ(model.weights_sha256(), other.weights_sha256());
  EXPECT_EQ(slot_of(model), slot_of(other));
}

TEST(MovingAverageFit, ANetOfKerasTrainsAsItDoesThere) {
  const ConfigValue expected = golden_record("moving_average_keras3.15.1/net.json");
  const auto count = std::ssize(expected.at("labels").as_list());
  const Tensor samples = f64_tensor({count, 4}, expected.at("inputs")).to(DType::f32);
  const InMemoryDataset data(samples, f64_tensor({count}, expected.at("labels")).to(DType::i32));
  const auto train = [&](Model& model, const char* name, std::vector<Callback*> callbacks = {}) {
    SCOPED_TRACE(name);
    const ConfigValue& run = expected.at(name);
    const History history = model.fit(data, {.batch_size = 6,
                                             .epochs = 2,
                                             .shuffle = false,
                                             .validation = &data,
                                             .callbacks = std::move(callbacks),
                                             .verbose = 0});
    for (const char* key : {"loss", "val_loss"})
      for (std::size_t epoch = 0; epoch < 2; ++epoch)
        EXPECT_NEAR(history.values.at(key)[epoch], run.at("history").at(key).as_list()[epoch].as_double(),
                    2e-5)
            << key;
    const Values outputs = model.predict(samples).to_vector<double>(), keras = numbers(run.at("outputs"));
    ASSERT_EQ(outputs.size(), keras.size());
    for (std::size_t i = 0; i < keras.size(); ++i) EXPECT_NEAR(outputs[i], keras[i], 5e-5) << i;
  };
  const std::string path = golden("moving_average_keras3.15.1/net.keras");
  Model model = Model::load(path);
  train(model, "again");
  train(model, "once_more");
  Model swapped = Model::load(path);
  SwapEMAWeights swap;
  train(swapped, "swapped", {&swap});
}

TEST(MovingAverageFit, AFileForKerasHasAveragesOnly) {
  const TempDir dir(memory_directory());
  Model model = averaging_model();
  model.fit(small_images(14), quiet(1));
  for (const bool is_averaged : {true, false}) {
    const std::string path = dir / "m.keras";
    model.save(path, {.keras_optimizer_state = KerasOptimizerState::keras3});
    const SavedModel file = read_saved_model(path);
    // Count, rate; of each of the four weights its average, then two slots of each in turn.
    ASSERT_EQ(file.optimizer_weights.size(), 2u + 4u + 8u);
    const Values first = file.optimizer_weights[2].values.to_vector<double>();
    const Segment& kernel = model.arena().segments().back();
    const Tensor averages = is_averaged ? model.arena().values() : model.optimizer().slots()[0].values;
    EXPECT_EQ(first.size(), static_cast<std::size_t>(kernel.count));
    EXPECT_EQ(first[0], averages.view(kernel.offset, {1}).to_vector<double>()[0]);
    model.swap_average();
  }
}

TEST(MovingAverageFit, AnH5ForKeras2CannotHoldIt) {
  const TempDir dir(memory_directory());
  Model model = averaging_model();
  EXPECT_EQ(
      message_of<CollectiveError>(
          [&] { model.save(dir / "m.h5", {.keras_optimizer_state = KerasOptimizerState::tf2}); }),
      "[save] TensorFlow 2 takes the optimizer of an .h5 for an older one, which keeps no moving average: "
      "save a .keras file");
}

/// What `fit` logs as val_loss, and what files of the last epoch evaluate to.
struct Validated {
  double logged = 0.0, of_file = 0.0, of_averages = 0.0, of_trained = 0.0;
};

Validated validated(SwapEMAWeightsOptions options) {
  const TempDir dir(memory_directory());
  const InMemoryDataset data = small_images(14);
  Model model = averaging_model();
  SwapEMAWeights swap(options);
  ModelCheckpoint save({.filepath = dir / "m.h5"});
  FitOptions fit = quiet(2, {&swap, &save});
  fit.validation = &data;
  const auto loss = [&](Model& one) { return one.evaluate(data).logs.at("loss"); };
  Validated result;
  result.logged = model.fit(data, fit).values.at("val_loss").back();
  result.of_averages = loss(model);
  Model of_file = Model::load(dir / "m.h5");
  result.of_file = loss(of_file);
  model.swap_average();
  result.of_trained = loss(model);
  return result;
}

TEST(SwapEMAWeights, ValidatesWithTheAverages) {
  const Validated result = validated({});
  EXPECT_NE(result.of_averages, result.of_trained);
  EXPECT_NEAR(result.logged, result.of_averages, 1e-6);
  EXPECT_NEAR(result.of_file, result.of_trained, 1e-6);
}

TEST(SwapEMAWeights, LetsTheFilesOfEpochsBeOfTheAverages) {
  const Validated result = validated({.swap_on_epoch = true});
  EXPECT_NEAR(result.logged, result.of_averages, 1e-6);
  EXPECT_NEAR(result.of_file, result.of_averages, 1e-6);
}

// The second `fit` begins with averages, which stay what is trained.
TEST(SwapEMAWeights, ChangesNothingInTheTraining) {
  const InMemoryDataset data = small_images(14);
  Model plain = averaging_model(), swapping = averaging_model();
  SwapEMAWeights swap({.swap_on_epoch = true});
  FitOptions fit = quiet(2);
  fit.validation = &data;
  for (int times = 0; times < 2; ++times) {
    fit.callbacks = {};
    plain.fit(data, fit);
    fit.callbacks = {&swap};
    swapping.fit(data, fit);
    EXPECT_EQ(swapping.weights_sha256(), plain.weights_sha256());
  }
}

// A file of the first epoch has the averages in place of the weights.
TEST(MovingAverageFit, ReturnsToTheTrainedWeightsOfAFile) {
  const TempDir dir(memory_directory());
  Model model = averaging_model();
  Values of_first_epoch, behind_return;
  std::int64_t epoch = 0;
  LambdaCallback watch({.on_epoch_begin = [&](std::int64_t begun) { epoch = begun; },
                        .on_epoch_end =
                            [&](std::int64_t ended, Logs&) {
                              if (ended == 0) of_first_epoch = weights_of(model);
                            },
                        .on_train_batch_begin =
                            [&](std::int64_t batch) {
                              if (epoch == 1 && batch == 1)
                                model.arena().values().view(0, {1}).fill(
                                    std::numeric_limits<double>::quiet_NaN());
                            },
                        .on_train_batch_end =
                            [&](std::int64_t batch, const Logs&) {
                              if (epoch == 1 && batch == 1) behind_return = weights_of(model);
                            }});
  SwapEMAWeights swap({.swap_on_epoch = true});
  ModelCheckpoint save({.filepath = dir / "{epoch}.h5"});
  FitOptions fit = quiet(2, {&watch, &swap, &save});
  fit.non_finite = {.action = NonFiniteAction::rollback};
  std::string warning;
  fit.warn = [&](const std::string& text) { warning = text; };
  model.fit(small_images(14), fit);
  EXPECT_NE(warning.find("1.h5"), std::string::npos) << warning;
  EXPECT_EQ(behind_return, of_first_epoch);
}

TEST(SwapEMAWeights, NeedsAnAverage) {
  Model model = small_model();
  SwapEMAWeights swap;
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(small_images(14), quiet(1, {&swap})); }),
            "[swap_ema_weights] Adam keeps no moving average: see Optimizer::set_moving_average");
}

// The average is averaged as the weights are, sharded as other state is, and swapped on all ranks together.
TEST(MovingAverageFit, IsTheSameOnAllRanks) {
  const InMemoryDataset data = small_images(14);
  const BucketOptions buckets{.first_bucket_bytes = 128, .bucket_bytes = 2048};
  const std::vector<DistributedOptions> ways{
      {.buckets = buckets},
      {.buckets = buckets, .state = StateLayout::sharded},
      {.buckets = buckets, .local_steps = {.period = 4, .start_step = 1}}};
  std::vector<std::string> weights;
  for (const DistributedOptions& way : ways) {
    std::mutex lock;
    std::vector<std::string> hashes;
    std::vector<Values> losses;
    const TempDir dir(memory_directory());
    test::run_ranks(3, [&](Communicator& world) {
      Model model = averaging_model(&world, way);
      SwapEMAWeights swap({.swap_on_epoch = true});
      ModelCheckpoint save({.filepath = dir / "{epoch}.h5"});
      FitOptions fit = quiet(2, {&swap, &save});
      fit.validation = &data;
      const History history = model.fit(data, fit);
      const std::string at_end = model.weights_sha256();
      model.swap_average();
      model.swap_average();
      EXPECT_EQ(model.weights_sha256(), at_end);
      EXPECT_EQ(
          model.weights_sha256(),
          Model::load(dir / "2.h5", {.communicator = &world, .backend = &backend("cpu")}).weights_sha256());
      FitOptions resumed = quiet(2);
      resumed.resume = true;
      resumed.validation = &data;
      resumed.warn = [](const std::string&) {};  // of callbacks that it has not
      Model again = averaging_model(&world, way);
      again.load_weights(dir / "1.h5");
      again.fit(data, resumed);
      EXPECT_EQ(again.weights_sha256(), at_end);
      const std::lock_guard guard(lock);
      hashes.push_back(at_end);
      losses.push_back(history.values.at("val_loss"));
    });
    EXPECT_EQ(hashes, std::vector<std::string>(3, hashes[0]));
    EXPECT_EQ(losses, std::vector<Values>(3, losses[0]));
    weights.push_back(hashes[0]);
  }
  EXPECT_EQ(weights[0], weights[1]) << "sharded state has the bits of whole state";
  EXPECT_NE(weights[0], weights[2]);
}

// In the midst of local steps each rank has weights and an average of its own.
TEST(MovingAverageFit, IsExchangedForThatOfAllRanks) {
  std::mutex lock;
  std::vector<std::string> hashes;
  test::run_ranks(3, [&](Communicator& world) {
    Model model = averaging_model(&world, {.local_steps = {.period = 2}});
    LambdaCallback exchange({.on_train_batch_end = [&](std::int64_t batch, const Logs&) {
      if (batch != 1) return;
      model.swap_average();
      const std::lock_guard guard(lock);
      hashes.push_back(model.weights_sha256());
    }});
    model.fit(small_images(14), quiet(1, {&exchange}));
  });
  EXPECT_EQ(hashes, std::vector<std::string>(3, hashes.at(0)));
}

}  // namespace
}  // namespace ronde::test
