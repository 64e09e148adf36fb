// Jobs in which a rank hangs, as its watchdogs see it.
#include <cstdlib>
#include <regex>
#include <string>

#include "distributed/run_main_job.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

// A job of three with a deadline of 1.5 seconds; the last rank hangs.
Job run_hanging(const std::string& how, const std::string& directory) {
  return run("RONDE_HANG_TIMEOUT=1.5 RONDE_FLIGHT_RECORDER=" + directory + ' ' + RONDE_MPIEXEC + " -n 3 " +
             RONDE_PROGRAM + " hang_" + how);
}

TEST_F(RunMain, StoppedRankIsFoundAndNamed) {
  const ronde::test::TempDir directory;
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
  const ronde::test::TempDir directory;
  const Job asleep = run_hanging("asleep", directory / "");
  EXPECT_EQ(asleep.status, 86) << asleep.output;
  EXPECT_EQ(asleep.count("] watchdog: rank 2 "), 1) << asleep.output;
  EXPECT_EQ(asleep.count("sleeps in its own code"), 1) << asleep.output;
  EXPECT_EQ(run("ls " + (directory / "")).count("ronde-flight-rank-"), 3);
}

// Where no launcher ends the stopped rank, the others do.
TEST(RunMainByVariables, StoppedRankIsFoundAndKilled) {
  const ronde::test::TempDir directory;
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

}  // namespace
}  // namespace ronde::test
