/// Whole jobs of run_main_program, started as a user starts them.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <ronde/distributed/mpi_communicator.h>

namespace ronde::test {

using Lines = std::vector<std::string>;

struct Job {
  int status = -1;  ///< as a shell has it
  std::string output;
  Lines messages;  ///< lines that are messages of ours
  int count(const std::string& text) const;
};

/// That it ended so, and said no more.
void expect_end(const Job& job, int status, const Lines& messages);

/// A command of the shell.
Job run(const std::string& command);
/// One process; `mode` is the program's word.
Job run_alone(const std::string& mode);
/// Under mpirun.
Job run_ranks(int ranks, const std::string& mode);
/// Without MPI: each rank started by itself. The status is that of rank 0.
Job run_by_variables(int ranks, const std::string& mode);

/// What is expected however ranks are started: run_ranks, run_by_variables.
using RunJob = Job (*)(int ranks, const std::string& mode);
/// Nobody comes to what the failing rank has begun in a group: that does not keep its error.
void expect_failure_to_end_groups(RunJob start);
void expect_children_to_end_alone(RunJob start);
void expect_errors_of_sets(RunJob start);

/// Tests that need mpirun.
class RunMain : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  }
};

}  // namespace ronde::test
