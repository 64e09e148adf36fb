#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <ronde/core/file_descriptor.h>
#include <ronde/models/file_io.h>

#include "files/wildcard.h"
#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  return names;
}

TEST(AtomicWriteFile, WritesAndReplaces) {
  const TempDir dir;
  const std::string path = dir / "a/b/file.h5";
  atomic_write_file(path, "first");
  EXPECT_EQ(read_file(path), "first");
  const std::string large(3 << 20, 'x');
  atomic_write_file(path, large);
  EXPECT_EQ(read_file(path), large);
  EXPECT_EQ(names_in(dir / "a/b"), std::vector<std::string>{"file.h5"}) << "a temporary file was left";
}

TEST(AtomicWriteFile, TakesAnEmptyFileAndBinaryBytes) {
  const TempDir dir;
  atomic_write_file(dir / "empty", "");
  EXPECT_EQ(read_file(dir / "empty"), "");
  const std::string bytes("\0\xff\n\0", 4);
  atomic_write_file(dir / "binary", bytes);
  EXPECT_EQ(read_file(dir / "binary"), bytes);
}

TEST(AtomicWriteFile, HasThePermissionsOfAnOrdinaryFile) {
  const TempDir dir;
  const mode_t before = ::umask(027);
  atomic_write_file(dir / "file", "x");
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicWriteFile, FailureNamesThePathAndLeavesWhatWasThere) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "target");
  atomic_write_file(dir / "target/file", "old");
  // A directory cannot be replaced by a file.
  const std::string message = message_of<IoError>([&] { atomic_write_file(dir / "target", "new"); });
  EXPECT_NE(message.find(dir / "target"), std::string::npos) << message;
  EXPECT_EQ(read_file(dir / "target/file"), "old");
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"target"}) << "a temporary file was left";
}

TEST(AtomicWriteFile, ParentThatIsAFileIsAnIoError) {
  const TempDir dir;
  atomic_write_file(dir / "file", "x");
  EXPECT_THROW(atomic_write_file(dir / "file/below", "y"), IoError);
}

TEST(AtomicWriteFile, DirectoryWithoutPermissionIsAnIoError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TempDir dir;
  std::filesystem::create_directory(dir / "locked");
  ::chmod((dir / "locked").c_str(), 0555);
  const std::string message = message_of<IoError>([&] { atomic_write_file(dir / "locked/file", "x"); });
  EXPECT_NE(message.find("ermission denied"), std::string::npos) << message;
}

TEST(AtomicWriteFile, PlaceThatTakesNoFilesIsAnIoError) {
  EXPECT_THROW(atomic_write_file("/proc/ronde", "x"), IoError);
}

TEST(AtomicWriteFile, NameOfADirectoryIsWrongUsage) {
  EXPECT_THROW(atomic_write_file("", "x"), UsageError);
  EXPECT_THROW(atomic_write_file("a/", "x"), UsageError);
}

TEST(AtomicWriteFile, DeletesWhatKilledProcessesLeft) {
  const TempDir dir;
  std::ofstream(cat(dir / "file", ".tmp.", ::getpid())) << "of a process that died";
  std::ofstream(dir / "file.tmp.1.1") << "of another";
  std::ofstream(dir / "file.tmp.mine") << "of a user";
  std::ofstream(dir / "other.tmp.1") << "of another file";
  atomic_write_file(dir / "file", "x");
  EXPECT_EQ(read_file(dir / "file"), "x");
  std::vector<std::string> names = names_in(dir.path());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"file", "file.tmp.mine", "other.tmp.1"}));
}

TEST(AtomicWriteFile, DeletesWhatKilledProcessesLeftOfAllFilesOfAPattern) {
  const TempDir dir;
  for (const char* name :
       {"1-20.h5.tmp.7", "1-40.h5.tmp.8.1", "other.h5.tmp.7", "1-20.h5.tmp.mine", "1-20.h5"})
    std::ofstream(dir / name) << "x";
  const FileDescriptor held(::open((dir / "2-20.h5.tmp.9").c_str(), O_WRONLY | O_CREAT, 0644));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  delete_abandoned_files(dir / "{epoch}-{batch}.h5");
  delete_abandoned_files(dir / "none/{epoch}.h5");
  std::vector<std::string> names = names_in(dir.path());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names,
            (std::vector<std::string>{"1-20.h5", "1-20.h5.tmp.mine", "2-20.h5.tmp.9", "other.h5.tmp.7"}));
}

TEST(AtomicWriteFile, RefusesASymbolicLinkButFollowsThoseOfDirectories) {
  const TempDir dir;
  atomic_write_file(dir / "real/file", "old");
  std::filesystem::create_symlink(dir / "real/file", dir / "link");
  std::filesystem::create_symlink(dir / "nowhere", dir / "dangling");
  std::filesystem::create_directory_symlink(dir / "real", dir / "directory");
  EXPECT_THROW(atomic_write_file(dir / "link", "new"), IoError);
  EXPECT_THROW(atomic_write_file(dir / "dangling", "new"), IoError);
  EXPECT_EQ(read_file(dir / "real/file"), "old");
  atomic_write_file(dir / "directory/file", "new");
  EXPECT_EQ(read_file(dir / "real/file"), "new");
}

TEST(AtomicWriteFile, ReplacesNothingButFiles) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(dir / "directory");
  for (const char* name : {"pipe", "directory"}) EXPECT_THROW(atomic_write_file(dir / name, "new"), IoError);
  EXPECT_TRUE(std::filesystem::is_fifo(dir / "pipe"));
  EXPECT_EQ(names_in(dir.path()).size(), 2u);
}

TEST(SystemError, KnowsWhatMayPass) {
  for (const int error : {ENOSPC, EDQUOT, EIO, EROFS, ESTALE, EMFILE, EINTR})
    EXPECT_TRUE(SystemError("x", error).is_storage_failure()) << std::strerror(error);
  for (const int error : {ENOENT, ENOTDIR, EACCES, EISDIR, ENAMETOOLONG, ELOOP, EINVAL})
    EXPECT_FALSE(SystemError("x", error).is_storage_failure()) << std::strerror(error);
}

TEST(AtomicWriteFile, LeavesAloneWhatIsBeingWritten) {
  const TempDir dir;
  const std::string name = cat(dir / "file", ".tmp.", ::getpid());
  const FileDescriptor held(::open(name.c_str(), O_WRONLY | O_CREAT, 0644));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  atomic_write_file(dir / "file", "x");
  EXPECT_EQ(read_file(dir / "file"), "x");
  EXPECT_TRUE(std::filesystem::exists(name));
}

TEST(ReadFile, MissingFileAndDirectoryAreIoErrors) {
  const TempDir dir;
  const std::string message = message_of<IoError>([&] { read_file(dir / "none"); });
  EXPECT_EQ(message, dir / "none" + ": cannot be read: No such file or directory");
  EXPECT_THROW(read_file(dir.path()), IoError);
}

TEST(ReadFile, LargerThanTheLimitIsAnInputError) {
  const TempDir dir;
  atomic_write_file(dir / "file", "12345");
  EXPECT_EQ(read_file(dir / "file", 5), "12345");
  EXPECT_THROW(read_file(dir / "file", 4), InputError);
}

}  // namespace
}  // namespace ronde::test
