#include <ronde/models/tensorboard.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <ronde/nn/sgd.h>

#include "models/callbacks/keras_callbacks.h"
#include "models/tensorboard/event_reader.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"
#include "tensorboard/sample_images.h"

namespace ronde::test {
namespace {

/// The golden file's net, on 6 pictures in batches of 2.
Model new_model(Communicator* communicator = nullptr) {
  Model model(std::make_unique<Sequential>(Conv2D({.filters = 2}), Flatten(),
                                           Dense({.units = 3, .activation = Activation::softmax})),
              {6, 6, 1}, {.communicator = communicator});
  model.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.25}),
                 .loss = std::make_unique<CategoricalCrossentropy>()});
  return model;
}

FitOptions with_board(const Dataset& data, Callback& board, std::int64_t epochs) {
  return {.global_batch_size = 2, .epochs = epochs, .validation = &data, .callbacks = {&board}, .verbose = 0};
}

/// (run, tag, step)
using Place = std::tuple<std::string, std::string, std::int64_t>;

std::set<Place> places(const std::string& directory) {
  std::set<Place> result;
  for (const char* run : {"train", "validation"})
    for (const Event& event : read_events(directory + "/" + run))
      if (!event.tag.empty()) result.emplace(run, event.tag, event.step);
  return result;
}

/// What Keras wrote. The names of its weights carry the model's, or end in _0.
std::set<Place> keras_places(const char* version, const char* name) {
  std::set<Place> result;
  const ConfigValue keras = keras_callbacks(version);
  for (const ConfigValue& event : keras.at("tensorboard").at(name).as_list()) {
    std::string tag = event.as_list()[1].as_string();
    if (tag.starts_with("sequential/")) tag.erase(0, 11);
    if (const auto at = tag.find("_0/histogram"); at != std::string::npos) tag.erase(at, 2);
    result.emplace(event.as_list()[0].as_string(), tag, event.as_list()[2].as_int());
  }
  return result;
}

std::set<std::string> tags_without(const std::set<Place>& ours, const std::set<Place>& keras) {
  std::set<std::string> tags;
  for (const Place& place : ours)
    if (!keras.contains(place)) tags.insert(std::get<1>(place));
  return tags;
}

void expect_all(const std::set<Place>& ours, const std::set<Place>& keras) {
  for (const Place& place : keras)
    EXPECT_TRUE(ours.contains(place))
        << std::get<0>(place) << " " << std::get<1>(place) << " " << std::get<2>(place);
}

TEST(TensorBoard, WritesWhatKerasWrites) {
  const TempDir dir;
  const InMemoryDataset data = small_images(6);
  TensorBoard board({.log_dir = dir.path(), .histogram_freq = 2});
  new_model().fit(data, with_board(data, board, 3));
  const std::set<Place> ours = places(dir.path()), keras = keras_places("3.15.1", "epochs");
  expect_all(ours, keras);
  EXPECT_EQ(tags_without(ours, keras), std::set<std::string>{"epoch_images_per_second"});
}

TEST(TensorBoard, WritesBatchesAsKerasDoes) {
  const TempDir dir;
  const InMemoryDataset data = small_images(6);
  TensorBoard board(
      {.log_dir = dir.path(), .histogram_freq = 2, .write_steps_per_second = true, .update_freq = 2});
  new_model().fit(data, with_board(data, board, 3));
  const std::set<Place> ours = places(dir.path()), keras = keras_places("2.15.0", "batches");
  expect_all(ours, keras);
  EXPECT_EQ(tags_without(ours, keras),
            (std::set<std::string>{"batch_learning_rate", "epoch_images_per_second", "epoch_learning_rate"}));
}

/// The values of a tag by step.
std::map<std::int64_t, double> values_of(const std::string& directory, const std::string& tag) {
  std::map<std::int64_t, double> values;
  for (const Event& event : read_events(directory))
    if (event.tag == tag && event.scalar) values[event.step] = *event.scalar;
  return values;
}

TEST(TensorBoard, ValuesAreTheLogs) {
  const TempDir dir;
  const InMemoryDataset data = small_images(6), validation = small_images(4, 1);
  TensorBoard board({.log_dir = dir.path(), .histogram_freq = 1});
  Model model = new_model();
  FitOptions fit = with_board(validation, board, 2);
  const History history = model.fit(data, fit);
  for (const auto& [run, prefix] : {std::pair{"train", ""}, {"validation", "val_"}})
    for (const char* name : {"loss", "accuracy"}) {
      const auto written = values_of(dir / run, cat("epoch_", name));
      const std::vector<double>& expected = history.values.at(cat(prefix, name));
      ASSERT_EQ(written.size(), 2u);
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_FLOAT_EQ(static_cast<float>(written.at(static_cast<std::int64_t>(i))),
                        static_cast<float>(expected[i]));
    }
  EXPECT_EQ(values_of(dir / "train", "epoch_learning_rate").at(1), 0.25);
  EXPECT_GT(values_of(dir / "train", "epoch_images_per_second").at(1), 0.0);
  for (const Event& event : read_events(dir / "train")) {
    if (event.tag != "dense/kernel/histogram" || event.step != 1) continue;
    const std::vector<double> weights = model.module().parameters()[2].variable.value().to_vector<double>();
    EXPECT_EQ(read_number<double>(field(event.histogram, 1)),
              *std::min_element(weights.begin(), weights.end()));
    EXPECT_EQ(read_number<double>(field(event.histogram, 3)), static_cast<double>(weights.size()));
  }
}

TEST(TensorBoard, ShowsTheNetAndSamples) {
  const TempDir dir;
  const InMemoryDataset data = small_images(6);
  TensorBoard board({.log_dir = dir.path(), .sample_images = &data, .sample_count = 3});
  new_model().fit(data, with_board(data, board, 1));
  std::vector<std::string> pictures;
  for (const Event& event : read_events(dir / "train")) {
    if (event.tag == "keras") {
      const ConfigValue net = from_json(event.text);
      EXPECT_EQ(net.at("class_name").as_string(), "Sequential");
    }
    if (!event.tag.starts_with("samples/")) continue;
    pictures.push_back(event.tag);
    EXPECT_EQ(integer_field(event.image, 1), 6);
    EXPECT_TRUE(field(event.image, 4).starts_with("\x89PNG"));
  }
  EXPECT_EQ(pictures, (std::vector<std::string>{"samples/0", "samples/1", "samples/2"}));
}

TEST(TensorBoard, WritesNoGraphWhereNoneIsWanted) {
  const TempDir dir;
  const InMemoryDataset data = small_images(6);
  TensorBoard board({.log_dir = dir.path(), .write_graph = false});
  new_model().fit(data, with_board(data, board, 1));
  for (const Place& place : places(dir.path())) EXPECT_NE(std::get<1>(place), "keras");
}

/// What is seen of these values in a picture of one line.
std::vector<std::uint8_t> seen(const std::vector<float>& values) {
  const auto width = static_cast<std::int64_t>(values.size());
  const InMemoryDataset data(Tensor::from<float>({1, 1, width, 1}, values),
                             Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{0}));
  return sample_images(data, 3).at(0).to_vector<std::uint8_t>();
}

TEST(TensorBoard, ShowsPicturesOfFractionsBytesAndAnyNumbers) {
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(seen({0.0f, 0.2f, 0.6f}), (Bytes{0, 51, 153}));
  EXPECT_EQ(seen({0.0f, 51.0f, 128.0f}), (Bytes{0, 51, 128}));
  EXPECT_EQ(seen({-2.0f, 0.0f, 8.0f}), (Bytes{0, 51, 255}));
  EXPECT_EQ(seen({0.0f, 500.0f, 100.0f}), (Bytes{0, 255, 51}));
}

TEST(TensorBoard, OnlyRankZeroWritesAndAFailureReachesAll) {
  const TempDir dir;
  const InMemoryDataset data = small_images(6);
  test::run_ranks(3, [&](Communicator& world) {
    TensorBoard board({.log_dir = dir / cat("rank", world.rank()), .update_freq = 1});
    new_model(&world).fit(data, with_board(data, board, 1));
  });
  EXPECT_TRUE(std::filesystem::exists(dir / "rank0/train"));
  EXPECT_FALSE(std::filesystem::exists(dir / "rank1"));
  atomic_write_file(dir / "file", "");
  for (const auto& error : test::run_ranks_collecting(2, [&](Communicator& world) {
         TensorBoard board({.log_dir = dir / "file"});
         new_model(&world).fit(data, with_board(data, board, 1));
       }))
    EXPECT_TRUE(error);
}

TEST(TensorBoard, ResumedTrainingLeavesNoOrphans) {
  const TempDir dir;
  const InMemoryDataset data = small_images(6);
  Model model = new_model();
  const TensorBoardOptions with_batches{.log_dir = dir.path(), .update_freq = 1};
  TensorBoard first(with_batches), second(with_batches);
  model.fit(data, with_board(data, first, 2));  // 2 epochs, 6 steps
  {
    // A run that went on and died.
    SummaryWriter train(dir / "train"), validation(dir / "validation");
    train.scalar("epoch_loss", 99, 2);
    train.scalar("batch_loss", 99, 7);
    train.scalar("batch_loss", 99, 50);
    validation.scalar("epoch_loss", 99, 2);
    validation.scalar("evaluation_loss_vs_iterations", 99, 9);
  }
  FitOptions fit = with_board(data, second, 3);
  fit.resume = true;
  model.fit(data, fit);
  for (const auto& [run, tag, last] : {std::tuple{"train", "epoch_loss", 2},
                                       {"train", "batch_loss", 9},
                                       {"validation", "epoch_loss", 2},
                                       {"validation", "evaluation_loss_vs_iterations", 9}}) {
    const auto values = values_of(dir / run, tag);
    EXPECT_EQ(values.rbegin()->first, last) << tag;
    for (const auto& [step, value] : values) EXPECT_NE(value, 99) << run << " " << tag << " " << step;
  }
  EXPECT_EQ(values_of(dir / "train", "batch_loss").size(), 9u);
  // For a TensorBoard that is running: from where on it has to forget.
  for (const auto& [run, step] : {std::pair{"train", 7}, {"validation", 7}})
    for (const Event& event : read_events(dir / run))
      if (event.restart) {
        EXPECT_EQ(event.step, step) << run;
      }
}

}  // namespace
}  // namespace ronde::test
