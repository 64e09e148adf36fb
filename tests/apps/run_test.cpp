// What `ronde run` decides; whole jobs: run_test.py.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <ronde/core/error.h>
#include <ronde/models/file_io.h>

#include "ronde/run/desertion.h"
#include "ronde/run/ending.h"
#include "ronde/run/hosts.h"
#include "ronde/run/patience.h"
#include "ronde/run/processor_time.h"
#include "ronde/run/scratch.h"
#include "ronde/run/start_facts.h"
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
  for (const auto& [status, meaning] : {std::pair{0, "done"},
                                        {2, "wrong usage"},
                                        {65, "a bad input file"},
                                        {74, "reading or writing failed"},
                                        {75, "saved, to be started again"},
                                        {86, "a rank hung"},
                                        {87, "weights differed between ranks"},
                                        {88, "numbers were not finite"},
                                        {127, "the program was not found"}})
    EXPECT_EQ(describe_status(status), cat(meaning, " (exit status ", status, ")"));
}

TEST(Ending, IsSavedForWhomeverToldItToEnd) {
  for (const int status : {1, 75, 86, 130, 137, 143}) EXPECT_EQ(status_when_told_to_end(status), 75) << status;
  for (const int status : {2, 65, 74, 127}) EXPECT_EQ(status_when_told_to_end(status), status);
}

TEST(Hosts, OfAList) {
  EXPECT_EQ(to_text(parse_hosts("a:4,b,c:2")), "a:4,b:1,c:2");
  EXPECT_EQ(slots_of(parse_hosts("a:4,b,c:2")), 7);
  EXPECT_THROW(parse_hosts("a:none"), UsageError);
  try {
    parse_hosts("nowhere/hosts");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--hosts nowhere/hosts: no such file, with lines \"a slots=4\"");
  }
  EXPECT_THROW(parse_hosts("a:0"), UsageError);
  for (const char* none : {",", ":4", "a,-x:2", "a b:2"}) EXPECT_THROW(parse_hosts(none), UsageError) << none;
  EXPECT_EQ(slots_of(parse_hosts("a:2000000000,b:2000000000")), 4'000'000'000);
}

TEST(Hosts, OfAFile) {
  const test::TempDir dir;
  atomic_write_file(dir / "hosts", "# ours\na slots=4\n\n  b max_slots=3 slots=2  # new\nc\n");
  EXPECT_EQ(to_text(parse_hosts(dir / "hosts")), "a:4,b:2,c:1");
  // A folder that happens to be called like a machine is none.
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  std::filesystem::create_directory("localhost");
  EXPECT_EQ(to_text(parse_hosts("localhost")), "localhost:1");
  std::filesystem::current_path(before);
}

TEST(Scratch, LeavesNothingOfItsOwnNorOfThoseThatWereKilled) {
  const test::TempDir dir;
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
    EXPECT_EQ(scratch.settings().at("PRTE_MCA_prte_tmpdir_base"), own);  // the name of Open MPI 5
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
  const test::TempDir dir;
  const std::string agent = dir / "agent";
  atomic_write_file(agent, "#!/bin/sh\n[ \"$1\" = here ] && [ \"$2\" = true ]\n");
  ASSERT_EQ(chmod(agent.c_str(), 0700), 0);
  for (const char* name : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}) {  // of Open MPI 4, and of 5
    setenv(name, agent.c_str(), 1);
    EXPECT_EQ(to_text(find_alive(parse_hosts("localhost:1,here:2,gone:2"))), "localhost:1,here:2") << name;
    unsetenv(name);
  }
}

// The first complaint of a supervisor that looks twice a second, from 100 s on, at two ranks: processes 7
// and 8.
class Patient {
 public:
  Patient(double start, double later)
      : patience_(100.0, [this](pid_t process) { return computed[process]; }) {
    for (int r = 0; r < 2; ++r) {
      HeartbeatSlot& slot = beats.slot(r);
      slot.start_deadline = start;
      slot.later_deadline = later;
      slot.process = 7 + r;
      computed[7 + r] = 1.0;
    }
  }
  // `each`: what happens in half a second.
  std::string until(
      double end, const std::function<void()>& each = [] {}) {
    std::string complaint;
    while (complaint.empty() && now_ < end) {
      each();
      complaint = patience_.complaint(beats, now_ += 0.5);
    }
    return complaint;
  }
  // A rank's watchdog is awake.
  void beat(int rank) { beats.slot(rank).beat.fetch_add(1); }
  void sleep(double seconds) { now_ += seconds; }
  HeartbeatFile beats{2};
  std::map<pid_t, double> computed;

 private:
  Patience patience_;
  double now_ = 100.0;
};

// Seconds after which it is told of `commands` each, until it says so; -1: never.
double deserted_after(const std::vector<std::vector<std::string>>& commands) {
  Desertion desertion;
  for (std::size_t i = 0; i < 60; ++i) {
    const auto now = static_cast<double>(i);
    EXPECT_TRUE(desertion.is_due(now));
    if (desertion.add(commands[std::min(i, commands.size() - 1)], "./train", now)) return now;
    EXPECT_FALSE(desertion.is_due(now + 0.5));
  }
  return -1;
}

TEST(Desertion, IsTenSecondsAfterTheLastRank) {
  const std::vector<std::string> rank{"./train --epochs 1 "}, other{"orted "}, none;
  EXPECT_EQ(deserted_after({none, rank, rank, none}), 13.0);
  EXPECT_EQ(deserted_after({rank, none, none, other, none}), 14.0);
  EXPECT_EQ(deserted_after({rank}), -1.0);
  EXPECT_EQ(deserted_after({none}), -1.0) << "it starts";
  EXPECT_EQ(deserted_after({other, none}), -1.0) << "its ranks are elsewhere";
}

TEST(Patience, EndsWhenNothingMoves) {
  Patient job(20.0, 10.0);
  EXPECT_EQ(job.until(125.0), "");
  EXPECT_EQ(job.until(125.5), "the ranks have come to no first step, and nothing moved for 25 s");
  job.beats.slot(1).step = 3;
  EXPECT_EQ(job.until(140.5), "");
  job.beats.slot(0).operations = 3;
  EXPECT_EQ(job.until(155.5), "");
  EXPECT_EQ(job.until(156.0), "nothing has moved for 15 s, in step 3");
  job.beats.slot(1).batches = 1;  // of an evaluation
  EXPECT_EQ(job.until(171.0), "");
  EXPECT_NE(job.until(171.5), "");
}

TEST(Patience, WaitsForRanksThatWereNotStarted) {
  Patient job(20.0, 10.0);
  job.beats.slot(1).process = 0;
  EXPECT_EQ(job.until(125.0), "");
  EXPECT_EQ(job.until(125.5), "only 1 of 2 ranks started, and nothing moved for 25 s");
}

// A shell script, a program of another framework.
TEST(Patience, JudgesNoProgramThatNeverCallsInit) {
  Patient job(20.0, 10.0);
  job.beats.clear();
  EXPECT_EQ(job.until(1e5), "");
}

// As its own flag, a file of settings or the environment say.
TEST(Patience, IsLongerThanThatOfTheMostPatientRank) {
  for (const double timeout : {1.0, 10.0, 60.0, 600.0}) {
    Patient job(std::max(timeout, 60.0), timeout);
    job.beats.slot(1).later_deadline = 90.0;
    const double most = std::max(timeout, 90.0);
    EXPECT_EQ(job.until(100.0 + most + 5.0), "") << timeout;
    EXPECT_NE(job.until(100.0 + most + 5.5), "") << timeout;
  }
}

TEST(Patience, LeavesARankAloneThatComputes) {
  Patient job(10.0, 10.0);
  const auto evaluate = [&] {
    job.beat(0), job.beat(1);
    job.computed[7] += 0.1;  // of half a second: it shares its core with others
  };
  EXPECT_EQ(job.until(2000.0, evaluate), "");
  // Ranks that wait for each other need a little too, for their watchdogs.
  const auto wait = [&] {
    job.beat(0), job.beat(1);
    job.computed[7] += 0.02, job.computed[8] += 0.02;
  };
  EXPECT_EQ(job.until(2014.5, wait), "");
  EXPECT_NE(job.until(2016.0, wait), "");
}

// MPI spins as it waits for a rank that was stopped.
TEST(Patience, IsNotDeceivedByARankThatSpins) {
  Patient job(10.0, 10.0);
  const auto spin = [&] {
    job.beat(0);
    job.computed[7] += 0.5;
  };
  EXPECT_EQ(job.until(114.5, spin), "");
  EXPECT_NE(job.until(117.0, spin), "");
  job.computed.erase(8);  // that rank has ended: then the first may be busy with what is left to do
  EXPECT_EQ(job.until(2000.0, spin), "");
}

TEST(Patience, CountsNoTimeInWhichAllWasStopped) {
  Patient job(10.0, 10.0);
  job.until(101.0);
  job.sleep(1000.0);
  EXPECT_EQ(job.until(1114.0), "");
  EXPECT_NE(job.until(1116.0), "");
}

TEST(Patience, WaitsWhileARankPausesItsWatchdog) {
  Patient job(10.0, 10.0);
  job.beats.slot(1).paused = 1;
  EXPECT_EQ(job.until(1000.0), "");
  job.beats.slot(1).paused = 0;
  EXPECT_EQ(job.until(1014.5), "");
  EXPECT_NE(job.until(1015.0), "");
}

TEST(Patience, IsEndlessWithoutADeadline) {
  Patient job(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(job.until(1e5), "");
}

TEST(StartFacts, ATrainerGotFurtherByItsSteps) {
  HeartbeatFile beats(2);
  beats.slot(1).process = 8;
  beats.slot(1).trains = 1;
  EXPECT_FALSE(facts_of(beats, 1000.0).has_made_something());
  EXPECT_FALSE(facts_of(beats, 1000.0).got_further_than(0));
  beats.slot(1).step = 5;
  EXPECT_TRUE(facts_of(beats, 1.0).has_made_something());
  EXPECT_TRUE(facts_of(beats, 1.0).got_further_than(4));
  EXPECT_FALSE(facts_of(beats, 1000.0).got_further_than(5));
}

// Its steps may begin anew at each start, and a program that is not made with Ronde has none.
TEST(StartFacts, AnythingElseByItsStepsOrALongStart) {
  HeartbeatFile beats(2);
  EXPECT_FALSE(facts_of(beats, 59.0).has_made_something());
  EXPECT_FALSE(facts_of(beats, 59.0).got_further_than(0));
  EXPECT_TRUE(facts_of(beats, 61.0).has_made_something());
  EXPECT_TRUE(facts_of(beats, 61.0).got_further_than(0));
  beats.slot(0).process = 7;
  beats.slot(0).step = 5;
  EXPECT_TRUE(facts_of(beats, 1.0).has_made_something());
  EXPECT_TRUE(facts_of(beats, 1.0).got_further_than(4));
  EXPECT_FALSE(facts_of(beats, 59.0).got_further_than(5));
  EXPECT_TRUE(facts_of(beats, 61.0).got_further_than(5));
}

TEST(ProcessorSeconds, OfAnyProcess) {
  const double before = processor_seconds(getpid());
  const std::clock_t begin = std::clock();
  while (std::clock() - begin < CLOCKS_PER_SEC / 10) {
  }
  EXPECT_NEAR(processor_seconds(getpid()) - before, 0.1, 0.05);
  EXPECT_GT(processor_seconds(getppid()), 0.0);
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
  EXPECT_EQ(processor_seconds(ended), 0.0);
}

}  // namespace
}  // namespace ronde::apps
