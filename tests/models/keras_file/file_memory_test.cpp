// Model files beside a training: what they take in memory counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include <ronde/core/backend.h>
#include <ronde/core/storage.h>
#include <ronde/data/zip.h>
#include <ronde/models/file_io.h>
#include <ronde/models/saved_model.h>

#include "keras_file/encode.h"
#include "keras_file/sealed_file.h"
#include "support/process_memory.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

constexpr std::size_t kWeight = std::size_t{16} << 20;
constexpr int kWeights = 6, kSlots = 2;

Tensor large_array(double value) {
  const Tensor values = Tensor::empty_once({static_cast<std::int64_t>(kWeight / sizeof(float))});
  values.fill(value);
  return values;
}

SavedModel large_model() {
  SavedModel model;
  SavedOptimizer& optimizer = model.state.emplace().optimizer.emplace();
  for (int i = 0; i < kSlots; ++i)
    optimizer.slots.push_back({cat("slot_", i), {{"layer_0/w", large_array(i)}}});
  for (int i = 0; i < kWeights; ++i) {
    const Tensor values = large_array(i);
    const std::string name = cat("layer_", i);
    model.layers.push_back({name, {{"w:0", values}}});
    model.layers_by_class.push_back({cat("layers/", name), {{"0", values}}});
  }
  return model;
}

TEST(FileMemory, AModelThatIsMovedIsFreedWhileItsFileGrows) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  for (const SavedLayout layout : {SavedLayout::h5, SavedLayout::weights_h5}) {
    SavedModel model = large_model();
    const std::string expected = encode_saved_model(model, layout);
    FileBuffer bytes;
    EXPECT_LT(growth_during([&] { bytes = encode_file(std::move(model), layout); }), kWeight);
    EXPECT_TRUE(std::string_view(bytes) == expected);
  }
}

TEST(FileMemory, AnArchiveAndTheWeightsInItAreAllThatIsInMemory) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  SavedModel model = large_model();
  model.model_config =
      ConfigDict{{"class_name", "Sequential"},
                 {"config", ConfigDict{{"name", "net"}, {"layers", std::vector<ConfigValue>{}}}}};
  // Of these the model itself was there before.
  constexpr std::size_t kFile = (kWeights + kSlots) * kWeight;
  EXPECT_LT(growth_during([&] { encode_file(std::move(model), SavedLayout::archive); }), kFile + kWeight);
}

// What somebody else has, or keeps, is written all the same and stays as it is.
TEST(FileMemory, ArraysOfOthersStayAsTheyAre) {
  std::vector<float> kept(kWeight / sizeof(float), 3.0F);
  const auto count = static_cast<std::int64_t>(kept.size());
  const std::shared_ptr<const void> owner(kept.data(), [](const void*) {});
  const Tensor shared = Tensor::full({count}, 2.0);
  SavedModel model;
  model.layers = {
      {"a", {{"w:0", shared}}},
      {"b",
       {{"w:0", Tensor::over(std::make_shared<Storage>(default_backend(), kept.data(), kWeight, owner),
                             {count}, DType::f32)}}}};
  encode_saved_model(std::move(model));
  EXPECT_EQ(shared.to_vector<float>(), std::vector<float>(kept.size(), 2.0F));
  EXPECT_TRUE(std::all_of(kept.begin(), kept.end(), [](float value) { return value == 3.0F; }));
}

TEST(FileMemory, AFileIsReadWithoutACopyOfIt) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const TempDir directory;
  const std::string path = directory.path() + "/model.h5";
  write_saved_model(path, large_model());
  SavedModel model;
  EXPECT_LT(growth_during([&] { model = read_saved_model(path); }), (kWeights + kSlots + 2) * kWeight);
  ASSERT_EQ(model.layers.size(), static_cast<std::size_t>(kWeights));
  EXPECT_EQ(model.layers.back().weights[0].values.slice(0, 0, 1).item(), kWeights - 1);
}

// By a process of its own, whose answer is in memory beside the arrays that are made of it.
TEST(FileMemory, AFileOfSomebodyElseIsLetGoWhenItIsRead) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const TempDir directory;
  const std::string path = directory.path() + "/net.keras";
  SavedModel model = large_model();
  model.state.reset();
  const std::string bytes = encode_saved_model(std::move(model), SavedLayout::weights_h5);
  {
    std::ofstream file(path, std::ios::binary);
    write_zip({{"metadata.json", "{}"},
               {"config.json", R"({"class_name": "Sequential", "config": {"name": "net", "layers": []}})"},
               {"model.weights.h5", std::string_view(bytes).substr(0, bytes.find("\nronde-"))}},
              [&](std::string_view piece) { file << piece; });
  }
  constexpr std::size_t kFile = kWeights * kWeight;
  EXPECT_LT(growth_during([&] { read_saved_model(path); }), 2 * kFile + kWeight);
}

TEST(FileMemory, WhatFilesHoldGoesBackToTheSystem) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const TempDir directory;
  const std::string path = directory.path() + "/model.h5";
  const std::size_t before = resident_bytes();
  write_saved_model(path, large_model());
  EXPECT_LT(resident_bytes(), before + kWeight);
  EXPECT_EQ(read_saved_model(path).layers.size(), static_cast<std::size_t>(kWeights));
  EXPECT_LT(resident_bytes(), before + kWeight);
}

TEST(SealedFile, OnlyWhatWasWrittenIsRead) {
  const TempDir directory;
  const std::string path = directory.path() + "/model.h5";
  SavedModel model;
  model.layers = {{"dense", {{"dense/kernel:0", Tensor::from<float>({2}, {1, 2})}}}};
  const std::string bytes = encode_saved_model(model);
  atomic_write_file(path, bytes);
  ASSERT_TRUE(read_sealed_file(path));
  EXPECT_EQ(read_sealed_file(path)->layers[0].weights[0].values.to_vector<float>(),
            (std::vector<float>{1, 2}));

  for (std::size_t at = 0; at < bytes.size(); at += 101) {
    std::string damaged = bytes;
    damaged[at] ^= 1;
    atomic_write_file(path, damaged);
    EXPECT_FALSE(read_sealed_file(path)) << at;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    atomic_write_file(path, bytes.substr(0, size));
    EXPECT_FALSE(read_sealed_file(path)) << size;
  }
  EXPECT_FALSE(read_sealed_file(directory.path()));
  EXPECT_FALSE(read_sealed_file(directory.path() + "/none.h5"));
}

}  // namespace
}  // namespace ronde::test
