// What the environment says, and what becomes of jobs where it is wrong.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/text.h>

#include "distributed/run_main_job.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

TEST(RunMainAlone, ThreadsFollowTheEnvironment) {
  EXPECT_EQ(run(std::string("RONDE_THREADS=3 ") + RONDE_PROGRAM).output, "threads 3\n");
  const Job wrong = run(std::string("RONDE_THREADS=many ") + RONDE_PROGRAM);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.messages, Lines{"ronde: RONDE_THREADS expects a number of threads, got many"});
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

TEST_F(RunMain, HangTimeoutIsANumber) {
  const Job job = run(std::string("RONDE_HANG_TIMEOUT=soon ") + RONDE_PROGRAM + " ok");
  EXPECT_EQ(job.status, 2);
  EXPECT_EQ(job.messages, Lines{"ronde: RONDE_HANG_TIMEOUT expects seconds, or 0 for no watchdog, got soon"});
}

// Of two ranks, the second of which has another environment. (mpirun of Open MPI 5.0.7 crashes where it is
// given two programs.)
Job run_with_another(const std::string& first, const std::string& second, const std::string& mode) {
  const auto rank = [&](const std::string& variable) {
    return cat("exec env ", variable, ' ', RONDE_PROGRAM, ' ', mode);
  };
  return run(cat(RONDE_MPIEXEC, " -n 2 sh -c '[ ${OMPI_COMM_WORLD_RANK-$PMI_RANK} = 1 ] || ", rank(first),
                 "; ", rank(second), "'"));
}

TEST_F(RunMain, WrongThreadsOfOneRankAreAnErrorOfAll) {
  expect_end(run_with_another("", "RONDE_THREADS=many", "one_returns_early"), 2,
             {"ronde: [rank 1] RONDE_THREADS expects a number of threads, got many"});
}

TEST_F(RunMain, TimelineIsMadeIfRankZeroIsAskedForIt) {
  const ronde::test::TempDir directory;
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
