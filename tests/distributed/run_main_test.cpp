// Exit statuses and messages of jobs, however they end.
#include <cstdlib>
#include <string>

#include <ronde/core/text.h>

#include "distributed/run_main_job.h"

namespace ronde::test {
namespace {

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
  EXPECT_EQ(run_alone("no_memory").messages,
            Lines{"ronde: not enough memory: smaller batches, or fewer ranks on this machine, need less"});
  EXPECT_EQ(run_alone("unknown_exception").messages, Lines{"ronde: unknown exception"});
}

TEST(RunMainAlone, IsAWorldOfOne) {
  const Job job = run_alone("restart");
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.count("rank 0 of 1, local 0 of 1, node 0 of 1, self\n"), 2) << job.output;
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

TEST_F(RunMain, StartsAgainAfterAFailure) {
  const Job job = run_ranks(3, "restart_after_failure");
  EXPECT_EQ(job.status, 0) << job.output;
}

TEST_F(RunMain, OneRankFails) {
  expect_end(run_ranks(3, "one_fails"), 65,
             {"ronde: [rank 2] train-labels: 59,999 labels for 60,000 images"});
}

// Much longer than this test may take.
TEST_F(RunMain, OneRankFailsWhileOthersCompute) {
  expect_end(run_ranks(2, "one_fails_others_busy"), 74, {"ronde: [rank 1] disk full"});
}

TEST_F(RunMain, AllRanksFailAndOneReports) {
  expect_end(run_ranks(4, "all_fail"), 2, {"ronde: [rank 0] --batch-size expects a positive number, got 0"});
}

TEST_F(RunMain, AgreedErrorIsReportedWhereItHappened) {
  expect_end(run_ranks(3, "agreed"), 65, {"ronde: [rank 2] bad magic"});
}

TEST_F(RunMain, OtherExceptionsAreFailures) {
  expect_end(run_ranks(2, "standard_exception"), 1, {"ronde: [rank 1] what a library says"});
  expect_end(run_ranks(2, "unknown_exception"), 1, {"ronde: [rank 1] unknown exception"});
}

TEST_F(RunMain, OneRankReturnsEarly) {
  expect_end(
      run_ranks(2, "one_returns_early"), 1,
      {"ronde: [rank 1] [distributed] ranks disagree: rank 0 calls barrier(), rank 1 calls nothing more "
       "(it is done)"});
}

TEST_F(RunMain, FailureMeetsCollectivesUnderWay) {
  expect_end(run_ranks(2, "pending"), 74, {"ronde: [rank 1] disk full"});
}

TEST_F(RunMain, FailureMeetsAGroupsCollectiveUnderWay) {
  expect_failure_to_end_groups(run_ranks);
}

TEST_F(RunMain, ChildrenOfARankEndAsTheyLike) {
  expect_children_to_end_alone(run_ranks);
}

TEST_F(RunMain, ErrorsOfASetAreThoseOfItsRanksInTheWorld) {
  expect_errors_of_sets(run_ranks);
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
  if (mpi_library_version().starts_with("MPICH")) GTEST_SKIP() << "its mpiexec may kill the others first";
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

}  // namespace
}  // namespace ronde::test

int main(int argc, char** argv) {
  for (const std::string& setting : ronde::split(RONDE_MPI_SETTINGS, ' ')) {
    const std::size_t name = setting.find('=');
    setenv(setting.substr(0, name).c_str(), setting.substr(name + 1).c_str(), 1);
  }
  unsetenv("RONDE_THREADS");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
