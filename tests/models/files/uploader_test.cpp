#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include <ronde/models/file_io.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/uploader.h>

#include "files/upload_target.h"
#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

constexpr double kLong = 60.0;  // seconds; nothing here takes so long

std::string script(const TempDir& dir, const std::string& name, const std::string& body) {
  const std::string path = dir / name;
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  ::chmod(path.c_str(), 0700);
  return path;
}

std::string content(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

std::string write(const std::string& path, const std::string& text) {
  atomic_write_file(path, text);
  return path;
}

// One that nobody has waited for yet is still listed, as a zombie.
bool has_ended(pid_t process) {
  const std::string stat = content(cat("/proc/", process, "/stat"));
  return stat.empty() || stat[stat.rfind(')') + 2] == 'Z';
}

void wait_for(const std::function<bool()>& moment) {
  for (int i = 0; i < 6000 && !moment(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(moment());
}

TEST(UploadTarget, CutsWordsBeforeItFillsThemIn) {
  const UploadTarget target("rclone 'copy to' {file} \"s3:{name}\" {name} x=''", 1.0);
  const auto words = target.command("/d/$(touch x); a b", "-rf 'q'");
  EXPECT_EQ(words, (std::vector<std::string>{"rclone", "copy to", "/d/$(touch x); a b", "s3:-rf 'q'",
                                             "./-rf 'q'", "x="}));
}

TEST(UploadTarget, RefusesWhatCannotBeOne) {
  for (const char* wrong : {"", "s3://bucket/run", "rclone copy remote:", "{file} there", "cp '{file} there"})
    EXPECT_THROW(UploadTarget(wrong, 1.0), UsageError) << wrong;
  EXPECT_THROW(UploadTarget("ronde-no-such-program {file}", 1.0).prepare(), IoError);
  EXPECT_THROW(UploadTarget("/dev/null/here", 1.0).prepare(), IoError);
}

TEST(Uploader, CopiesToADirectoryByNameBelowItsRoot) {
  const TempDir dir(memory_directory());
  Uploader uploader({.target = dir / "there", .root = dir / "run"});
  uploader.prepare();
  uploader.offer(write(dir / "run/models/a b;.h5", "weights"));
  uploader.offer(write(dir / "elsewhere/b.h5", "others"));
  const UploadReport report = uploader.finish(kLong);
  EXPECT_EQ(report.uploaded, 2);
  EXPECT_TRUE(report.missing.empty());
  EXPECT_EQ(content(dir / "there/models/a b;.h5"), "weights");
  EXPECT_EQ(content(dir / "there/b.h5"), "others");
  EXPECT_FALSE(std::filesystem::exists(dir / "there/b.h5.part"));
  EXPECT_THROW(Uploader({.target = dir / "run", .root = dir / "run"}).prepare(), UsageError);
}

TEST(Uploader, TriesAgainAndWarnsOnce) {
  const TempDir dir(memory_directory());
  const std::string command =
      script(dir, "flaky",
             cat("echo x >> '", dir / "tries", "'\n[ $(wc -l < '", dir / "tries", "') -gt 3 ] && cp \"$1\" '",
                 dir / "got", "' && exit 0\necho one >&2; echo 'no route' >&2; exit 4"));
  std::mutex mutex;
  std::vector<std::string> warnings;
  Uploader uploader(
      {.target = command + " {file}", .first_pause = 0.01, .warn = [&](const std::string& problem) {
         const std::lock_guard lock(mutex);
         warnings.push_back(problem);
       }});
  uploader.offer(write(dir / "a.h5", "weights"));
  const UploadReport report = uploader.finish(kLong);
  EXPECT_EQ(report.uploaded, 1);
  EXPECT_TRUE(report.missing.empty());
  EXPECT_EQ(content(dir / "got"), "weights");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("flaky: exit status 4: no route"), std::string::npos) << warnings[0];
}

TEST(Uploader, KillsWhatHangsAndSaysWhatIsMissing) {
  const TempDir dir(memory_directory());
  const std::string command = script(
      dir, "hang", cat("echo $$ > '", dir / "pid", "'\nsleep 1000 & echo $! > '", dir / "child", "'; wait"));
  Uploader uploader({.target = command + " {file}", .timeout = kLong});
  uploader.offer(write(dir / "a.h5", "weights"));
  wait_for([&] { return content(dir / "child").ends_with("\n"); });
  const UploadReport report = uploader.finish(0.0);
  EXPECT_EQ(report.missing, std::vector<std::string>{dir / "a.h5"});
  EXPECT_EQ(report.uploaded, 0);
  for (const char* process : {"pid", "child"})
    wait_for([&] { return has_ended(std::stoi(content(dir / process))); });
}

TEST(Uploader, EndsATryAtTheTimeout) {
  const TempDir dir(memory_directory());
  const UploadTarget target(script(dir, "late", "sleep 1000") + " {file}", 0.05);
  const std::atomic<bool> never = false;
  EXPECT_NE(target.put("/f", "f", never).find("not done after"), std::string::npos);
}

TEST(Uploader, ACommandThatNeverStopsWritingEndsToo) {
  const TempDir dir(memory_directory());
  const UploadTarget target(script(dir, "flood", "exec yes >&2") + " {file}", 0.05);
  const std::atomic<bool> never = false;
  EXPECT_NE(target.put("/f", "f", never).find("not done after"), std::string::npos);
}

// As a program may be started by another that never looks after its own: the system collects children then.
TEST(Uploader, WhatNobodyCanTellIsNotUploaded) {
  const TempDir dir(memory_directory());
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const std::atomic<bool> never = false;
  const std::string problem = UploadTarget("false {file}", kLong).put("/f", "f", never);
  ::signal(SIGCHLD, before);
  EXPECT_EQ(problem, "false: has ended, but its exit status went to somebody else");
}

TEST(Uploader, AWarningThatThrowsHarmsNothing) {
  const TempDir dir(memory_directory());
  Uploader uploader(
      {.target = "false {file}", .timeout = kLong, .first_pause = 1000.0, .warn = [](const std::string&) {
         throw std::runtime_error("no terminal");
       }});
  uploader.offer(write(dir / "a.h5", "weights"));
  EXPECT_EQ(uploader.finish(0.2).missing, std::vector<std::string>{dir / "a.h5"});
}

// While the first upload waits, newer files come: one of a name that waits already, and one too many.
TEST(Uploader, TheNewestWins) {
  const TempDir dir(memory_directory());
  const std::string command =
      script(dir, "slow",
             cat("touch '", dir / "begun", "'\nwhile [ ! -e '", dir / "go", "' ]; do sleep 0.01; done\n",
                 "echo \"$2 $(cat \"$1\")\" >> '", dir / "log", "'"));
  Uploader uploader({.target = command + " {file} {name}", .root = dir.path(), .most_waiting = 2});
  uploader.offer(write(dir / "first", "1"));
  wait_for([&] { return std::filesystem::exists(dir / "begun"); });
  uploader.offer(write(dir / "oldest", "1"));
  uploader.offer(write(dir / "b", "1"));
  uploader.offer(write(dir / "c", "1"));
  uploader.offer(write(dir / "b", "2"));
  write(dir / "go", "");
  const UploadReport report = uploader.finish(kLong);
  EXPECT_EQ(content(dir / "log"), "first 1\nb 2\nc 1\n");
  EXPECT_EQ(report.uploaded, 3);
  EXPECT_EQ(report.passed_over, 1);
  EXPECT_TRUE(report.missing.empty());
}

TEST(Uploader, GivesTheCommandNoFilesOfThisProcess) {
  const TempDir dir(memory_directory());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string fd = std::to_string(ends[1]);
  const std::string command = script(dir, "look", cat("[ ! -e /proc/self/fd/", fd, " ]"));
  Uploader uploader({.target = command + " {file}"});
  uploader.offer(write(dir / "a", "x"));
  EXPECT_EQ(uploader.finish(kLong).uploaded, 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Uploader, PassesOverWhatIsGone) {
  const TempDir dir(memory_directory());
  Uploader uploader({.target = "cp {file} " + (dir / "there")});
  uploader.offer(dir / "never-there");
  const UploadReport report = uploader.finish(kLong);
  EXPECT_EQ(report.passed_over, 1);
  EXPECT_TRUE(report.missing.empty());
}

TEST(Uploader, HearsOfEachCheckpointOfATraining) {
  const TempDir dir(memory_directory());
  Model model = small_model();
  ModelCheckpoint checkpoints({.filepath = dir / "run/{epoch}.h5"});
  Uploader uploader({.target = dir / "there", .root = dir / "run"});
  model.fit(small_images(8), {.epochs = 3, .callbacks = {&uploader, &checkpoints}, .verbose = 0});
  EXPECT_EQ(uploader.finish(kLong).uploaded, 3);
  for (const char* name : {"1.h5", "2.h5", "3.h5"})
    EXPECT_EQ(content(dir / "there/" + name), content(dir / "run/" + name)) << name;
}

}  // namespace
}  // namespace ronde::test
