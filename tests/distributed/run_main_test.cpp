// Exit statuses and messages of whole jobs, started as a user starts them.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include <gtest/gtest.h>
#include <ronde/core/error.h>
#include <ronde/distributed/heartbeat.h>
#include <ronde/distributed/mpi_communicator.h>

#include "support/temp_dir.h"

namespace ronde::test {
namespace {

struct Job {
  int status = -1;
  std::string output;
  /// Lines that are messages of ours.
  std::vector<std::string> messages;
  int count(const std::string& text) const {
    int n = 0;
    for (std::size_t at = output.find(text); at != std::string::npos; at = output.find(text, at + 1)) ++n;
    return n;
  }
};

Job run(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  Job job;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    job.output.append(buffer.data(), n);
  const int status = pclose(pipe);
  job.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  for (std::size_t begin = 0; begin < job.output.size();) {
    const std::size_t end = std::min(job.output.find('\n', begin), job.output.size());
    const std::string line = job.output.substr(begin, end - begin);
    if (line.rfind("ronde:", 0) == 0) job.messages.push_back(line);
    begin = end + 1;
  }
  return job;
}

Job run_alone(const std::string& mode) {
  return run(std::string(RONDE_PROGRAM) + ' ' + mode);
}

Job run_ranks(int ranks, const std::string& mode) {
  return run(std::string(RONDE_MPIEXEC) + " -n " + std::to_string(ranks) + ' ' + RONDE_PROGRAM + ' ' + mode);
}

// Without MPI: each rank started by itself. The status is that of rank 0.
Job run_by_variables(int ranks, const std::string& mode) {
  const ronde::testing::TempDir directory;
  std::string command;
  for (int r = ranks - 1; r >= 0; --r) {
    command += "RONDE_RANK=" + std::to_string(r) + " RONDE_WORLD_SIZE=" + std::to_string(ranks) +
               " RONDE_RENDEZVOUS=file:" + (directory / "meeting") + ' ' + RONDE_PROGRAM + ' ' + mode +
               (r > 0 ? " & " : "; s=$?; wait; exit $s");
  }
  return run("{ " + command + "; }");
}

using Lines = std::vector<std::string>;

class RunMain : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  }
};

TEST(RunMainAlone, Succeeds) {
  const Job job = run_alone("ok");
  EXPECT_EQ(job.status, 0);
  EXPECT_TRUE(job.messages.empty());
}

TEST(RunMainAlone, ReportsWithoutARank) {
  const Job job = run_alone("one_fails");
  EXPECT_EQ(job.status, 65);
  EXPECT_EQ(job.messages, Lines{"ronde: train-labels: 59,999 labels for 60,000 images"});
  EXPECT_EQ(run_alone("all_fail").status, 2);
  EXPECT_EQ(run_alone("agreed").status, 65);
  EXPECT_EQ(run_alone("standard_exception").status, 1);
  EXPECT_EQ(run_alone("unknown_exception").messages, Lines{"ronde: unknown exception"});
}

TEST(RunMainAlone, IsAWorldOfOne) {
  const Job job = run_alone("restart");
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.count("rank 0 of 1, local 0 of 1, node 0 of 1, self\n"), 2) << job.output;
}

TEST(RunMainAlone, ThreadsFollowTheEnvironment) {
  EXPECT_EQ(run(std::string("RONDE_THREADS=3 ") + RONDE_PROGRAM).output, "threads 3\n");
  const Job wrong = run(std::string("RONDE_THREADS=many ") + RONDE_PROGRAM);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.messages, Lines{"ronde: RONDE_THREADS expects a number of threads, got many"});
}

TEST(RunMainByVariables, StartsAgain) {
  const Job job = run_by_variables(3, "restart");
  EXPECT_EQ(job.status, 0) << job.output;
  EXPECT_EQ(job.count("rank 2 of 3, local 2 of 3, node 0 of 1, tcp"), 2) << job.output;
}

// Spare ranks of any program: they come together, and begin nothing before they are released, however much
// later than any deadline that is.
TEST(RunMainByVariables, WaitsInInitWhileItIsHeld) {
  HeartbeatFile beats(2);
  beats.hold();
  std::int64_t early = -1;
  std::thread supervisor([&] {
    const auto nap = [](int milliseconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    };
    while (beats.slot(0).operations.load() == 0 || beats.slot(1).operations.load() == 0) nap(5);
    nap(700);
    early = beats.slot(0).step.load() + beats.slot(1).step.load();
    beats.release();
  });
  setenv("RONDE_HEARTBEAT", beats.address().c_str(), 1);
  setenv("RONDE_HANG_TIMEOUT", "0.5", 1);
  const Job job = run_by_variables(2, "hang_not");
  unsetenv("RONDE_HANG_TIMEOUT");
  unsetenv("RONDE_HEARTBEAT");
  beats.slot(0).operations = beats.slot(1).operations = 1;  // should they have failed before
  supervisor.join();
  EXPECT_EQ(job.status, 0) << job.output;
  EXPECT_EQ(early, 0) << "steps were begun";
  EXPECT_EQ(beats.slot(0).step.load(), 4);
  EXPECT_EQ(beats.slot(1).step.load(), 4);
}

TEST(RunMainByVariables, OneRankFails) {
  const Job job = run_by_variables(3, "one_fails");
  EXPECT_EQ(job.status, 65) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 2] train-labels: 59,999 labels for 60,000 images"});
}

TEST(RunMainByVariables, FailureMeetsCollectivesUnderWay) {
  const Job job = run_by_variables(2, "pending");
  EXPECT_EQ(job.status, 74) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 1] disk full"});
}

// Nobody comes to what the failing rank has begun in a group: that does not keep its error.
TEST(RunMainByVariables, FailureMeetsAGroupsCollectiveUnderWay) {
  setenv("RONDE_HANG_TIMEOUT", "30", 1);
  const Job job = run_by_variables(3, "pending_in_a_group");
  unsetenv("RONDE_HANG_TIMEOUT");
  EXPECT_EQ(job.status, 74) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 2] disk full"});
}

TEST(RunMainByVariables, OneRankIsKilled) {
  const Job job = run_by_variables(3, "killed");
  EXPECT_EQ(job.status, 1) << job.output;
  EXPECT_GE(job.count("has died"), 1) << job.output;
}

// Who is gone reports nothing, so the others do, however they heard of it.
TEST(RunMainByVariables, OneRankExits) {
  const Job job = run_by_variables(3, "exit_alone");
  EXPECT_EQ(job.status, 1) << job.output;
  EXPECT_GE(job.count("nothing more") + job.count("has left"), 1) << job.output;
}

// Who is missing is told by those who wait, and not by a watchdog, which does not know.
TEST(RunMainByVariables, RanksThatDoNotComeAreNamed) {
  const ronde::testing::TempDir directory;
  const std::string place = cat("file:", directory / "meeting");
  const Job job =
      run(cat("RONDE_HANG_TIMEOUT_START=0.5 RONDE_RANK=0 RONDE_WORLD_SIZE=3 RONDE_RENDEZVOUS=", place, ' ',
              RONDE_PROGRAM, " ok"));
  EXPECT_EQ(job.status, 1);
  EXPECT_EQ(job.messages,
            Lines{cat("ronde: [rank 0] [tcp] ranks 1, 2 of 3 did not come to ", place, " within 0.5 s")});
}

TEST(RunMainByVariables, WrongVariables) {
  const Job job = run(std::string("RONDE_RANK=1 ") + RONDE_PROGRAM);
  EXPECT_EQ(job.status, 2);
  EXPECT_EQ(
      job.messages,
      Lines{"ronde: [rank 1] RONDE_RANK is set, so RONDE_WORLD_SIZE must be a number, but it is not set"});
}

// By variables each rank has its own secret; the one that has another says so.
TEST(RunMainByVariables, AWrongTokenIsReported) {
  const ronde::testing::TempDir directory;
  const std::string place = cat("file:", directory / "meeting");
  const std::string common = cat("RONDE_WORLD_SIZE=2 RONDE_RENDEZVOUS=", place, ' ', RONDE_PROGRAM, " ok");
  // Rank 0 would wait for another caller.
  const Job job = run(cat("{ RONDE_TOKEN=right RONDE_RANK=0 ", common, " & RONDE_TOKEN=wrong RONDE_RANK=1 ",
                          common, "; s=$?; kill -KILL $!; wait; exit $s; }"));
  EXPECT_EQ(job.status, 1) << job.output;
  EXPECT_EQ(job.messages, Lines{cat("ronde: [rank 1] [tcp] RONDE_TOKEN is not that of rank 0 at ", place)});
}

// Wrong before there is a world to tell of it; one rank speaks for all that have it.
TEST_F(RunMain, WrongSettingsAreToldOnce) {
  const std::vector<std::pair<std::string, std::string>> settings{
      {"RONDE_ISA", "[isa] RONDE_ISA=wrong is none of"},
      {"RONDE_CONV", "[conv2d] RONDE_CONV=wrong is none of"},
      {"RONDE_HANG_TIMEOUT", "RONDE_HANG_TIMEOUT expects seconds, or 0 for no watchdog, got wrong"},
      {"RONDE_HANG_TIMEOUT_LOADER", "RONDE_HANG_TIMEOUT_LOADER expects seconds, or 0 for ever, got wrong"},
      {"RONDE_ALLREDUCE", "RONDE_ALLREDUCE"}};
  for (const auto& [name, message] : settings) {
    setenv(name.c_str(), "wrong", 1);
    const Job job = run_ranks(3, "ok");
    const Job alone = run_by_variables(2, "ok");
    unsetenv(name.c_str());
    for (const Job& one : {job, alone}) {
      EXPECT_EQ(one.status, 2) << one.output;
      ASSERT_EQ(one.messages.size(), 1u) << one.output;
      EXPECT_NE(one.messages[0].find(message), std::string::npos) << one.output;
    }
  }
}

TEST_F(RunMain, Succeeds) {
  const Job job = run_ranks(3, "ok");
  EXPECT_EQ(job.status, 0) << job.output;
  EXPECT_TRUE(job.messages.empty());
}

TEST_F(RunMain, StartsAgain) {
  const Job job = run_ranks(2, "restart");
  EXPECT_EQ(job.status, 0) << job.output;
  EXPECT_EQ(job.count("rank 1 of 2, local 1 of 2, node 0 of 1, mpi"), 2) << job.output;
}

TEST_F(RunMain, OneRankFails) {
  const Job job = run_ranks(3, "one_fails");
  EXPECT_EQ(job.status, 65) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 2] train-labels: 59,999 labels for 60,000 images"});
}

// Much longer than this test may take.
TEST_F(RunMain, OneRankFailsWhileOthersCompute) {
  const Job job = run_ranks(2, "one_fails_others_busy");
  EXPECT_EQ(job.status, 74) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 1] disk full"});
}

TEST_F(RunMain, AllRanksFailAndOneReports) {
  const Job job = run_ranks(4, "all_fail");
  EXPECT_EQ(job.status, 2) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 0] --batch-size expects a positive number, got 0"});
}

TEST_F(RunMain, AgreedErrorIsReportedWhereItHappened) {
  const Job job = run_ranks(3, "agreed");
  EXPECT_EQ(job.status, 65) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 2] bad magic"});
}

TEST_F(RunMain, OtherExceptionsAreFailures) {
  const Job standard = run_ranks(2, "standard_exception");
  EXPECT_EQ(standard.status, 1) << standard.output;
  EXPECT_EQ(standard.messages, Lines{"ronde: [rank 1] what a library says"});
  const Job unknown = run_ranks(2, "unknown_exception");
  EXPECT_EQ(unknown.status, 1) << unknown.output;
  EXPECT_EQ(unknown.messages, Lines{"ronde: [rank 1] unknown exception"});
}

TEST_F(RunMain, OneRankReturnsEarly) {
  const Job job = run_ranks(2, "one_returns_early");
  EXPECT_EQ(job.status, 1) << job.output;
  EXPECT_EQ(
      job.messages,
      Lines{"ronde: [rank 1] [distributed] ranks disagree: rank 0 calls barrier(), rank 1 calls nothing more "
            "(it is done)"});
}

TEST_F(RunMain, FailureMeetsCollectivesUnderWay) {
  const Job job = run_ranks(2, "pending");
  EXPECT_EQ(job.status, 74) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 1] disk full"});
}

TEST_F(RunMain, FailureMeetsAGroupsCollectiveUnderWay) {
  setenv("RONDE_HANG_TIMEOUT", "30", 1);
  const Job job = run_ranks(3, "pending_in_a_group");
  unsetenv("RONDE_HANG_TIMEOUT");
  EXPECT_EQ(job.status, 74) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 2] disk full"});
}

TEST_F(RunMain, EndsWithoutShutdown) {
  const Job job = run_ranks(2, "no_shutdown");
  EXPECT_EQ(job.status, 0) << job.output;
}

// A rank that calls exit() in the middle of the job does not leave the others waiting for ever.
TEST_F(RunMain, OneRankExits) {
  const Job job = run_ranks(2, "exit_alone");
  EXPECT_NE(job.status, 0) << job.output;
  EXPECT_NE(job.output.find("nothing more"), std::string::npos) << job.output;
}

// Nor does it those that go on after the first error.
TEST_F(RunMain, OneRankExitsAndTheOthersIgnoreIt) {
  setenv("RONDE_HANG_TIMEOUT", "20", 1);
  const Job job = run_ranks(2, "exit_unheard");
  unsetenv("RONDE_HANG_TIMEOUT");
  EXPECT_EQ(job.status, 1) << job.output;
  EXPECT_EQ(job.count("ignored: "), 3) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 0] [distributed] rank 1 has left; others still wait for it"});
}

// kill -9 between two all-reduces over shared memory ends the job, and nothing of that memory is left.
TEST_F(RunMain, OneRankIsKilled) {
  const Job job = run_ranks(3, "killed_in_allreduce");
  EXPECT_NE(job.status, 0) << job.output;
  // Names there carry the numbers of processes; other jobs on this machine may have theirs for a moment.
  EXPECT_EQ(run("for f in $(ls /dev/shm | grep ^ronde-); do n=${f#ronde-};"
                " [ -d /proc/${n%%-*} ] || echo $f; done")
                .output,
            "");
}

// A job of three with a deadline of 1.5 seconds; the last rank hangs.
Job run_hanging(const std::string& how, const std::string& directory) {
  return run("RONDE_HANG_TIMEOUT=1.5 RONDE_FLIGHT_RECORDER=" + directory + ' ' + RONDE_MPIEXEC + " -n 3 " +
             RONDE_PROGRAM + " hang_" + how);
}

TEST_F(RunMain, StoppedRankIsFoundAndNamed) {
  const ronde::testing::TempDir directory;
  const Job job = run_hanging("stopped", directory / "");
  EXPECT_EQ(job.status, 86) << job.output;
  ASSERT_EQ(job.messages.size(), 1u) << job.output;
  EXPECT_TRUE(std::regex_search(
      job.messages[0],
      std::regex("^ronde: \\[rank 0\\] watchdog: rank 2 \\(process [0-9]+\\) is stopped \\(SIGSTOP\\) after "
                 "#[0-9]+ in step 3; the others have waited for [0-9.]+ s in allreduce #[0-9]+ 'losses' "
                 "\\(4\\.0 kB\\)")))
      << job.messages[0];
  // Those that live have written what they did.
  const std::string flight = run("cat " + (directory / "ronde-flight-rank-1.txt")).output;
  EXPECT_NE(flight.find("allreduce"), std::string::npos) << flight;
  EXPECT_NE(flight.find("WAITS for the other ranks"), std::string::npos) << flight;
}

TEST_F(RunMain, HungRankEndsWithTheOthers) {
  const ronde::testing::TempDir directory;
  const Job asleep = run_hanging("asleep", directory / "");
  EXPECT_EQ(asleep.status, 86) << asleep.output;
  EXPECT_EQ(asleep.count("] watchdog: rank 2 "), 1) << asleep.output;
  EXPECT_EQ(asleep.count("sleeps in its own code"), 1) << asleep.output;
  EXPECT_EQ(run("ls " + (directory / "")).count("ronde-flight-rank-"), 3);
}

// Where no launcher ends the stopped rank, the others do.
TEST(RunMainByVariables, StoppedRankIsFoundAndKilled) {
  const ronde::testing::TempDir directory;
  setenv("RONDE_HANG_TIMEOUT", "2", 1);
  setenv("RONDE_FLIGHT_RECORDER", directory.path().c_str(), 1);
  const Job job = run_by_variables(3, "hang_stopped");  // which waits for all three
  unsetenv("RONDE_HANG_TIMEOUT");
  unsetenv("RONDE_FLIGHT_RECORDER");
  EXPECT_EQ(job.status, 86) << job.output;
  EXPECT_EQ(job.count("] watchdog: rank 2 "), 1) << job.output;
}

TEST_F(RunMain, WatchdogWaitsWhileItIsToldTo) {
  const Job job = run_hanging("paused", "/tmp");
  EXPECT_EQ(job.status, 0) << job.output;
}

TEST_F(RunMain, HangTimeoutIsANumber) {
  const Job job = run(std::string("RONDE_HANG_TIMEOUT=soon ") + RONDE_PROGRAM + " ok");
  EXPECT_EQ(job.status, 2);
  EXPECT_EQ(job.messages, Lines{"ronde: RONDE_HANG_TIMEOUT expects seconds, or 0 for no watchdog, got soon"});
}

// Of two ranks, the second of which has another environment.
Job run_with_another(const std::string& first, const std::string& second, const std::string& mode) {
  const auto rank = [&](const std::string& variable) {
    return cat(" -n 1 ", variable.empty() ? "" : " -x ", variable, ' ', RONDE_PROGRAM, ' ', mode);
  };
  return run(cat(RONDE_MPIEXEC, rank(first), " :", rank(second)));
}

TEST_F(RunMain, WrongThreadsOfOneRankAreAnErrorOfAll) {
  const Job job = run_with_another("", "RONDE_THREADS=many", "one_returns_early");
  EXPECT_EQ(job.status, 2) << job.output;
  EXPECT_EQ(job.messages, Lines{"ronde: [rank 1] RONDE_THREADS expects a number of threads, got many"});
}

TEST_F(RunMain, TimelineIsMadeIfRankZeroIsAskedForIt) {
  const ronde::testing::TempDir directory;
  const std::string wanted = cat("RONDE_TIMELINE=", directory / "timeline.json");
  EXPECT_EQ(run_with_another("", wanted, "ok").status, 0);
  EXPECT_EQ(run(cat("ls ", directory.path())).output, "");
  EXPECT_EQ(run_with_another(wanted, "", "ok").status, 0);
  EXPECT_EQ(run(cat("ls ", directory.path())).output, "timeline.json\n");
}

TEST_F(RunMain, AllreduceGoesTheWayThatTheEnvironmentSays) {
  EXPECT_EQ(run_ranks(2, "transport").count("transport: shared memory, 2 ranks\n"), 1);
  setenv("RONDE_ALLREDUCE", "mpi", 1);
  EXPECT_EQ(run_ranks(2, "transport").count("transport: mpi, 2 ranks\n"), 1);
  setenv("RONDE_ALLREDUCE", "ring", 1);
  const Job wrong = run_ranks(2, "transport");
  unsetenv("RONDE_ALLREDUCE");
  EXPECT_EQ(wrong.status, 2) << wrong.output;
  EXPECT_EQ(wrong.messages,
            Lines{"ronde: [rank 0] RONDE_ALLREDUCE expects auto, mpi, node or hierarchical, got ring"});
}

// Which has nobody to exchange anything with, but the next start may.
TEST_F(RunMain, WrongWayOfTheAllreduceIsAnErrorOfOneProcessToo) {
  const Job job = run(std::string("RONDE_ALLREDUCE=ring ") + RONDE_PROGRAM + " ok");
  EXPECT_EQ(job.status, 2);
  EXPECT_EQ(job.messages, Lines{"ronde: RONDE_ALLREDUCE expects auto, mpi, node or hierarchical, got ring"});
}

}  // namespace
}  // namespace ronde::test

int main(int argc, char** argv) {
  // What mpirun needs as root and on a machine with few cores.
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                           "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle"}) {
    setenv(name, "1", 1);
  }
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  setenv("OMPI_MCA_btl", "vader,self", 1);
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
  unsetenv("RONDE_THREADS");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
