#include <ronde/models/latest_checkpoint.h>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>

#include <ronde/models/file_io.h>
#include <ronde/models/model_checkpoint.h>

#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

/// Files 1-1.h5 ... 1-4.h5.
void make_checkpoints(const TempDir& dir, const std::string& ending = ".h5") {
  Model model = small_model();
  ModelCheckpoint checkpoint({.filepath = cat(dir / "{epoch}-{batch}", ending), .save_steps = 1});
  model.fit(small_images(16), {.batch_size = 4, .callbacks = {&checkpoint}, .verbose = 0});
}

TEST(LatestCheckpoint, IsTheMostAdvancedWhateverItsTimeAndName) {
  const TempDir dir(memory_directory());
  make_checkpoints(dir);
  std::filesystem::rename(dir / "1-4.h5", dir / "0.h5");
  std::filesystem::last_write_time(dir / "0.h5",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const LatestCheckpoint latest = latest_checkpoint(dir.path());
  EXPECT_EQ(latest.path, dir / "0.h5");
  EXPECT_EQ(latest.steps, 4);
  EXPECT_TRUE(latest.skipped.empty());
  EXPECT_EQ(latest_checkpoint(dir / "{epoch:d}-{batch}.h5").path, dir / "1-3.h5");
  EXPECT_EQ(latest_checkpoint(dir / "1-2.h5").path, dir / "1-2.h5");
  EXPECT_EQ(latest_checkpoint(dir / "*/{epoch}.h5").path, "");
  EXPECT_EQ(latest_checkpoint(dir / "not there/{epoch}.h5").path, "");
}

TEST(LatestCheckpoint, MayBeAnArchiveOfKeras) {
  const TempDir dir(memory_directory());
  make_checkpoints(dir, ".keras");
  const LatestCheckpoint latest = latest_checkpoint(dir / "{epoch}-{batch}.keras");
  EXPECT_EQ(latest.path, dir / "1-4.keras");
  EXPECT_EQ(latest.steps, 4);
  EXPECT_EQ(latest_checkpoint(dir.path()).path, latest.path);
  std::string bytes = read_file(dir / "1-4.keras");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  atomic_write_file(dir / "1-4.keras", bytes);
  bytes = read_file(dir / "1-3.keras");
  atomic_write_file(dir / "1-3.keras", bytes.substr(0, bytes.size() - 1));
  const LatestCheckpoint good = latest_checkpoint(dir.path());
  EXPECT_EQ(good.path, dir / "1-2.keras");
  EXPECT_EQ(good.skipped.size(), 2u);
  EXPECT_EQ(good.damaged.size(), 2u);
}

TEST(LatestCheckpoint, SkipsWhatIsDamagedAndSaysWhy) {
  const TempDir dir(memory_directory());
  make_checkpoints(dir);
  std::string bytes = read_file(dir / "1-4.h5");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  atomic_write_file(dir / "1-4.h5", bytes);
  bytes = read_file(dir / "1-3.h5");
  atomic_write_file(dir / "1-3.h5", bytes.substr(0, bytes.size() - 1));
  atomic_write_file(dir / "1-9.h5.tmp.77", bytes);
  small_model().save_weights(dir / "weights.h5");
  const LatestCheckpoint latest = latest_checkpoint(dir.path());
  EXPECT_EQ(latest.path, dir / "1-2.h5");
  EXPECT_EQ(latest.steps, 2);
  ASSERT_EQ(latest.skipped.size(), 3u);
  EXPECT_EQ(latest.skipped[0], dir / "1-3.h5" + ": is cut off, or no checkpoint of Ronde");
  EXPECT_EQ(latest.skipped[1],
            dir / "1-4.h5" + ": damaged: its bytes are not those that were written (SHA-256 differs)");
  EXPECT_EQ(latest.skipped[2], dir / "weights.h5" + ": is cut off, or no checkpoint of Ronde");
  const std::set<std::string> damaged(latest.damaged.begin(), latest.damaged.end());
  EXPECT_EQ(damaged, (std::set<std::string>{dir / "1-3.h5", dir / "1-4.h5", dir / "weights.h5"}));
  for (const std::string& path : damaged) std::filesystem::rename(path, path + kDamagedEnding);
  EXPECT_TRUE(latest_checkpoint(dir / "*").skipped.empty()) << "what is kept aside is looked at";
}

// After the last step of an epoch, and at its end: the second goes on with the next epoch.
TEST(LatestCheckpoint, OfAsManyStepsIsTheOneOfMoreEpochs) {
  const TempDir dir(memory_directory());
  Model model = small_model();
  ModelCheckpoint steps({.filepath = dir / "z.h5", .save_steps = 4}), epochs({.filepath = dir / "a.h5"});
  model.fit(small_images(16), {.batch_size = 4, .callbacks = {&steps, &epochs}, .verbose = 0});
  const LatestCheckpoint latest = latest_checkpoint(dir.path());
  EXPECT_EQ(latest.path, dir / "a.h5");
  EXPECT_EQ(latest.epochs, 1);
  EXPECT_EQ(latest_checkpoint(dir / "z.h5").steps, latest.steps);
}

TEST(LatestCheckpoint, OfEquallyAdvancedOnesIsTheLastByName) {
  const TempDir dir(memory_directory());
  make_checkpoints(dir);
  for (const char* name : {"a.h5", "c.h5", "b.h5"}) std::filesystem::copy_file(dir / "1-4.h5", dir / name);
  EXPECT_EQ(latest_checkpoint(dir.path()).path, dir / "c.h5");
}

TEST(LatestCheckpoint, PassesOverWhatIsRefused) {
  const TempDir dir(memory_directory());
  make_checkpoints(dir);
  std::vector<std::string> asked;
  const LatestCheckpoint latest = latest_checkpoint(dir.path(), [&](const std::string& path) {
    asked.push_back(path);
    return path == dir / "1-4.h5";
  });
  EXPECT_EQ(latest.path, dir / "1-3.h5");
  EXPECT_EQ(latest.refused, 1);
  EXPECT_EQ(asked.size(), 2u) << "those that are less advanced are not looked at";
  EXPECT_EQ(latest.paths.size(), 4u);
}

}  // namespace
}  // namespace ronde::test
