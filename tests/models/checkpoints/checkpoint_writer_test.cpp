#include "checkpoints/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <ronde/models/file_io.h>

#include "support/temp_dir.h"

namespace ronde::test {
namespace {

SavedModel snapshot(DType dtype = DType::f32) {
  SavedModel model;
  model.model_config = ConfigDict{{"class_name", "Sequential"}};
  model.layers = {{"dense", {{"dense/kernel:0", Tensor::full({3}, 0.5, {.dtype = dtype})}}}};
  model.layers_by_class = {{"layers/dense", {{"0", model.layers[0].weights[0].values}}}};
  model.state.emplace().steps = 7;
  return model;
}

TEST(CheckpointWriter, EachFileHasAllOfTheSnapshot) {
  const TempDir directory;
  const auto path = [&](const char* name) { return directory.path() + "/" + name; };
  const SavedModel model = snapshot();
  CheckpointWriter writer;
  writer.start(snapshot(), {{path("a.h5")},
                            {path("weights.h5"), true},
                            {path("b.h5")},
                            {path("new.weights.h5"), true},
                            {path("more.h5"), true}});
  for (const WrittenFile& file : writer.wait()) EXPECT_EQ(file.problem, "");
  for (const char* whole : {"a.h5", "b.h5"}) EXPECT_TRUE(read_file(path(whole)) == encode_saved_model(model));
  for (const char* weights : {"weights.h5", "more.h5"})
    EXPECT_TRUE(read_file(path(weights)) == encode_saved_model(weights_of(model)));
  EXPECT_TRUE(read_file(path("new.weights.h5")) ==
              encode_saved_model(weights_of(model), SavedLayout::weights_h5));
}

// The first attempt may have used up what a second one would need.
TEST(CheckpointWriter, ASnapshotThatCannotBeEncodedLeavesNoFile) {
  const TempDir directory;
  const std::string first = directory.path() + "/a.h5", second = directory.path() + "/b.h5";
  CheckpointWriter writer;
  writer.start(snapshot(DType::i64), {{first}, {second}});
  const std::vector<WrittenFile> files = writer.wait();
  ASSERT_EQ(files.size(), 2u);
  for (const WrittenFile& file : files)
    EXPECT_NE(file.problem.find("is i64"), std::string::npos) << file.problem;
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_FALSE(std::filesystem::exists(second));
}

TEST(CheckpointWriter, WhatListenersThrowIsAResult) {
  const TempDir directory;
  const std::string path = directory.path() + "/a.h5";
  CheckpointWriter writer;
  writer.start(snapshot(), {{path}}, {[](const std::string&) { throw std::runtime_error("deaf"); }});
  const std::vector<WrittenFile> files = writer.wait();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].status, ExitStatus::failure);
  EXPECT_EQ(files[0].problem, path + ": is written, but who was told of it failed: deaf");
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace ronde::test
