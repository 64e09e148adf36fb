#include <ronde/core/new_file.h>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temp_dir.h"

namespace ronde::test {
namespace {

using namespace std::string_literals;

std::string content_of(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

std::ptrdiff_t count_files(const std::string& directory) {
  return std::distance(std::filesystem::directory_iterator(directory), {});
}

TEST(NewFile, AppearsWholeWhenItIsPublished) {
  const TempDir dir;
  NewFile file(dir / "a");
  file.append("one ");
  file.append("two");
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
  file.publish();
  EXPECT_EQ(content_of(dir / "a"), "one two");
  EXPECT_EQ(count_files(dir.path()), 1);
}

TEST(NewFile, SkippedBytesAreZeros) {
  const TempDir dir;
  NewFile file(dir / "a");
  file.append("what is cleared");
  file.clear();
  file.write(4, "end");
  file.write(0, "be");
  file.publish();
  EXPECT_EQ(content_of(dir / "a"), "be\0\0end"s);
}

TEST(NewFile, WithoutPublishNothingIsLeft) {
  const TempDir dir;
  { NewFile(dir / "a").append("x"); }
  EXPECT_EQ(count_files(dir.path()), 0);
}

TEST(NewFile, HasItsModeLessTheUmask) {
  const TempDir dir;
  const mode_t before = ::umask(007);
  NewFile(dir / "ordinary").publish();
  NewFile(dir / "secret", 0600).publish();
  ::umask(before);
  struct stat ordinary {
  }, secret{};
  ASSERT_EQ(::stat((dir / "ordinary").c_str(), &ordinary), 0);
  ASSERT_EQ(::stat((dir / "secret").c_str(), &secret), 0);
  EXPECT_EQ(ordinary.st_mode & 0777, 0660u);
  EXPECT_EQ(secret.st_mode & 0777, 0600u);
}

TEST(NewFile, ReplacesNeitherLinksNorDirectories) {
  const TempDir dir;
  std::filesystem::create_symlink("elsewhere", dir / "link");
  std::filesystem::create_directory(dir / "directory");
  for (const char* name : {"link", "directory"}) {
    EXPECT_THROW(NewFile(dir / name), SystemError) << name;
    EXPECT_THROW(require_replaceable(dir / name), SystemError) << name;
  }
  require_replaceable(dir / "nothing");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
}

// Whoever may write in the directory could have put a link where the bytes are to go.
TEST(NewFile, TakesNoNameThatIsThere) {
  const TempDir dir;
  std::ofstream(dir / "victim") << "as it was";
  std::filesystem::create_symlink("victim", cat(dir / "a", ".tmp.", ::getpid()));
  NewFile file(dir / "a");
  file.append("x");
  file.publish();
  EXPECT_EQ(content_of(dir / "a"), "x");
  EXPECT_EQ(content_of(dir / "victim"), "as it was");
}

// See Note [Abandoned files].
TEST(NewFile, DeletesWhatAKilledProcessLeft) {
  const TempDir dir;
  const pid_t child = ::fork();
  if (child == 0) {
    NewFile file(dir / "a");
    file.append("half of it");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(count_files(dir.path()), 1);
  const NewFile living(dir / "a");  // which the next one leaves alone
  const NewFile next(dir / "a");
  EXPECT_EQ(count_files(dir.path()), 2);
  EXPECT_NE(living.temporary_path(), next.temporary_path());
}

TEST(NewFile, NamesItsTemporaryFiles) {
  EXPECT_TRUE(is_temporary_name("a.h5.tmp.12.1"));
  EXPECT_FALSE(is_temporary_name("a.tmp.h5"));
  EXPECT_EQ(directory_of("a/b/c"), "a/b");
  EXPECT_EQ(directory_of("/c"), "/");
  EXPECT_EQ(directory_of("c"), ".");
}

}  // namespace
}  // namespace ronde::test
