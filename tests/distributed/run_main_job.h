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

/// A command of the shell.
Job run(const std::string& command);
/// One process; `mode` is the program's word.
Job run_alone(const std::string& mode);
/// Under mpirun.
Job run_ranks(int ranks, const std::string& mode);
/// Without MPI: each rank started by itself. The status is that of rank 0.
Job run_by_variables(int ranks, const std::string& mode);

/// Tests that need mpirun.
class RunMain : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "built without MPI";
  }
};

}  // namespace ronde::test
