// What `ronde run` decides; whole jobs: run_test.py.
#include <algorithm>
#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <ronde/core/error.h>
#include <ronde/models/file_io.h>

#include "ronde/run/ending.h"
#include "ronde/run/hosts.h"
#include "ronde/run/patience.h"
#include "ronde/run/scratch.h"
#include "support/temp_dir.h"

namespace ronde::apps {
namespace {

TEST(Ending, SaysWhetherTryingAgainHelps) {
  EXPECT_EQ(judge(0), Verdict::done);
  EXPECT_EQ(judge(75), Verdict::saved);
  for (const int status : {2, 64, 65, 126, 127, 130}) EXPECT_EQ(judge(status), Verdict::is_final) << status;
  for (const int status : {1, 3, 74, 86, 87, 88, 134, 137, 139, 205})
    EXPECT_EQ(judge(status), Verdict::try_again) << status;
  EXPECT_EQ(describe_status(137), "signal 9 (Killed)");
  EXPECT_EQ(describe_status(205), "failed (exit status 205)");
  EXPECT_EQ(describe_status(86), "a rank hung (exit status 86)");
}

TEST(Hosts, OfAList) {
  EXPECT_EQ(to_text(parse_hosts("a:4,b,c:2")), "a:4,b:1,c:2");
  EXPECT_EQ(slots_of(parse_hosts("a:4,b,c:2")), 7);
  EXPECT_TRUE(has_this_machine({}));
  EXPECT_TRUE(has_this_machine(parse_hosts("203.0.113.1,localhost")));
  EXPECT_FALSE(has_this_machine(parse_hosts("203.0.113.1,203.0.113.2")));
  EXPECT_THROW(parse_hosts("a:none"), UsageError);
  EXPECT_THROW(parse_hosts("a:0"), UsageError);
  EXPECT_THROW(parse_hosts(","), UsageError);
}

TEST(Hosts, OfAFile) {
  const testing::TempDir dir;
  atomic_write_file(dir / "hosts", "# ours\na slots=4\n\n  b max_slots=3 slots=2  # new\nc\n");
  EXPECT_EQ(to_text(parse_hosts(dir / "hosts")), "a:4,b:2,c:1");
}

TEST(Scratch, LeavesNothingOfItsOwnNorOfThoseThatWereKilled) {
  const testing::TempDir dir;
  const auto make_old = [&](const std::string& name) {
    EXPECT_EQ(mkdir((dir / name).c_str(), 0700), 0);
    atomic_write_file(dir / name + "/file", "of mpirun");
    const std::array<timespec, 2> then{timespec{1, 0}, timespec{1, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, (dir / name).c_str(), then.data(), 0), 0);
  };
  const auto exists = [&](const std::string& name) { return access((dir / name).c_str(), F_OK) == 0; };
  make_old("mpirun-of-ronde-killed");
  make_old("mpirun-of-ronde-in-use");
  make_old("another");
  const int in_use = open((dir / "mpirun-of-ronde-in-use").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(in_use, LOCK_EX), 0);
  setenv("TMPDIR", dir.path().c_str(), 1);
  std::string own;
  {
    const Scratch scratch;
    own = scratch.settings().at("OMPI_MCA_orte_tmpdir_base");
    EXPECT_TRUE(own.starts_with(dir / "mpirun-of-ronde-")) << own;
    atomic_write_file(own + "/file", "of mpirun");
    const Scratch spare;
    EXPECT_NE(spare.settings().at("OMPI_MCA_orte_tmpdir_base"), own);
  }
  unsetenv("TMPDIR");
  close(in_use);
  EXPECT_NE(access(own.c_str(), F_OK), 0);
  EXPECT_FALSE(exists("mpirun-of-ronde-killed"));
  EXPECT_TRUE(exists("mpirun-of-ronde-in-use"));
  EXPECT_TRUE(exists("another"));
}

// A remote shell that reaches one machine only.
TEST(Hosts, ThoseThatAnswer) {
  const testing::TempDir dir;
  const std::string agent = dir / "agent";
  atomic_write_file(agent, "#!/bin/sh\n[ \"$1\" = here ] && [ \"$2\" = true ]\n");
  ASSERT_EQ(chmod(agent.c_str(), 0700), 0);
  setenv("OMPI_MCA_plm_rsh_agent", agent.c_str(), 1);
  EXPECT_EQ(to_text(find_alive(parse_hosts("localhost:1,here:2,gone:2"))), "localhost:1,here:2");
  unsetenv("OMPI_MCA_plm_rsh_agent");
}

// The first complaint of a supervisor that looks twice a second, from 100 s on.
class Patient {
 public:
  explicit Patient(const JobDeadlines& ranks) : patience_(ranks, 100.0) {}
  std::string until(double end) {
    std::string complaint;
    while (complaint.empty() && now_ < end) complaint = patience_.complaint(beats, now_ += 0.5);
    return complaint;
  }
  void sleep(double seconds) { now_ += seconds; }
  HeartbeatFile beats{2};

 private:
  Patience patience_;
  double now_ = 100.0;
};

TEST(Patience, EndsWhenNothingMoves) {
  Patient job({.start = 20.0, .later = 10.0});
  EXPECT_EQ(job.until(124.5), "");
  EXPECT_EQ(job.until(125.0), "only 0 of 2 ranks started, and nothing moved for 25 s");
  job.beats.slot(0).process = 7;
  job.beats.slot(1).process = 8;
  EXPECT_EQ(job.until(150.0), "");
  EXPECT_EQ(job.until(150.5), "the ranks have come to no first step, and nothing moved for 25 s");
  job.beats.slot(1).step = 3;
  EXPECT_EQ(job.until(165.5), "");
  job.beats.slot(0).operations = 3;
  EXPECT_EQ(job.until(180.5), "");
  EXPECT_EQ(job.until(181.0), "nothing has moved for 15 s, in step 3");
}

// Whatever the ranks are told, they see their deadlines first, each.
TEST(Patience, IsLongerThanThatOfTheRanks) {
  for (const double timeout : {1.0, 10.0, 60.0, 600.0}) {
    Patient job(job_deadlines(timeout));
    EXPECT_EQ(job.until(100.0 + std::max(timeout, 60.0) + 4.5), "") << timeout;
    EXPECT_NE(job.until(100.0 + std::max(timeout, 60.0) + 5.0), "") << timeout;
  }
}

TEST(Patience, CountsNoTimeInWhichAllWasStopped) {
  Patient job({.start = 10.0, .later = 10.0});
  job.sleep(1000.0);
  EXPECT_EQ(job.until(1113.0), "");
  EXPECT_NE(job.until(1115.0), "");
}

TEST(Patience, WaitsWhileARankPausesItsWatchdog) {
  Patient job({.start = 10.0, .later = 10.0});
  job.beats.slot(1).paused = 1;
  EXPECT_EQ(job.until(1000.0), "");
  job.beats.slot(1).paused = 0;
  EXPECT_EQ(job.until(1014.5), "");
  EXPECT_NE(job.until(1015.0), "");
}

TEST(Patience, IsEndlessWithoutADeadline) {
  Patient job(job_deadlines(0.0));
  EXPECT_EQ(job.until(1e5), "");
}

}  // namespace
}  // namespace ronde::apps
