#include "files/file_remover.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <ronde/models/file_io.h>

#include "support/temp_dir.h"

namespace ronde::test {
namespace {

TEST(FileRemover, TheyAreGoneWhenItHasWaited) {
  const TempDir dir(memory_directory());
  for (const char* name : {"a", "b", "c", "stays"}) atomic_write_file(dir / name, "content");
  FileRemover remover;
  remover.remove({dir / "a", dir / "missing", dir / "b"});
  remover.remove({dir / "c"});
  remover.wait();
  for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(std::filesystem::exists(dir / name)) << name;
  EXPECT_TRUE(std::filesystem::exists(dir / "stays"));
}

TEST(FileRemover, WaitsAtItsEnd) {
  const TempDir dir(memory_directory());
  atomic_write_file(dir / "a", "content");
  FileRemover().remove({dir / "a"});
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
}

}  // namespace
}  // namespace ronde::test
