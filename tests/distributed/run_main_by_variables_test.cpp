// Jobs without MPI, whose ranks somebody else starts.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <ronde/core/text.h>
#include <ronde/distributed/heartbeat.h>

#include "distributed/run_main_job.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

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

TEST(RunMainByVariables, ChildrenOfARankEndAsTheyLike) {
  expect_children_to_end_alone(run_by_variables);
}

TEST(RunMainByVariables, OneRankFails) {
  expect_end(run_by_variables(3, "one_fails"), 65,
             {"ronde: [rank 2] train-labels: 59,999 labels for 60,000 images"});
}

TEST(RunMainByVariables, FailureMeetsCollectivesUnderWay) {
  expect_end(run_by_variables(2, "pending"), 74, {"ronde: [rank 1] disk full"});
}

TEST(RunMainByVariables, FailureMeetsAGroupsCollectiveUnderWay) {
  expect_failure_to_end_groups(run_by_variables);
}

TEST(RunMainByVariables, ErrorsOfASetAreThoseOfItsRanksInTheWorld) {
  expect_errors_of_sets(run_by_variables);
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
  const ronde::test::TempDir directory;
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
  const ronde::test::TempDir directory;
  const std::string place = cat("file:", directory / "meeting");
  const std::string common = cat("RONDE_WORLD_SIZE=2 RONDE_RENDEZVOUS=", place, ' ', RONDE_PROGRAM, " ok");
  // Rank 0 would wait for another caller.
  const Job job = run(cat("{ RONDE_TOKEN=right RONDE_RANK=0 ", common, " & RONDE_TOKEN=wrong RONDE_RANK=1 ",
                          common, "; s=$?; kill -KILL $!; wait; exit $s; }"));
  EXPECT_EQ(job.status, 1) << job.output;
  EXPECT_EQ(job.messages, Lines{cat("ronde: [rank 1] [tcp] RONDE_TOKEN is not that of rank 0 at ", place)});
}

}  // namespace
}  // namespace ronde::test
