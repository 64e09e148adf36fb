#include "launch/launch.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "launch/cores.h"

namespace ronde::test {
namespace {

std::map<std::string, std::string> environment;

Launch launch_in(std::map<std::string, std::string> variables) {
  environment = std::move(variables);
  return read_launch([](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, Alone) {
  const Launch launch = launch_in({});
  EXPECT_EQ(launch.launcher, "");
  EXPECT_EQ(launch.rank, 0);
  EXPECT_FALSE(launch.needs_mpi());
}

TEST(Launch, OpenMpi) {
  const Launch launch =
      launch_in({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "3"}});
  EXPECT_EQ(launch.launcher, "Open MPI");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_TRUE(launch.needs_mpi());
}

TEST(Launch, Mpich) {
  const Launch launch = launch_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"PMI_FD", "7"}});
  EXPECT_EQ(launch.launcher, "MPICH");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 4);
  EXPECT_TRUE(launch.loses_exits);
  EXPECT_FALSE(launch_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).loses_exits);
}

TEST(Launch, OneProcessNeedsNoMpi) {
  EXPECT_FALSE(launch_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}).needs_mpi());
}

TEST(Launch, Slurm) {
  const Launch step =
      launch_in({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  EXPECT_EQ(step.rank, 5);
  EXPECT_TRUE(step.needs_mpi());
  // A batch script, which is not one of its tasks.
  EXPECT_FALSE(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).needs_mpi());
}

TEST(Launch, PmixDoesNotTellTheSize) {
  const Launch launch = launch_in({{"PMIX_RANK", "2"}});
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 0);
  EXPECT_TRUE(launch.needs_mpi());
}

TEST(Launch, Variables) {
  const Launch launch = launch_in({{"RONDE_RANK", "2"},
                                   {"RONDE_WORLD_SIZE", "4"},
                                   {"RONDE_RENDEZVOUS", "tcp://node1:29500"},
                                   {"RONDE_TOKEN", "a secret\r\n"},  // as read from a file
                                   {"RONDE_IFACE", "eth1"},
                                   {"OMPI_COMM_WORLD_RANK", "0"},
                                   {"OMPI_COMM_WORLD_SIZE", "8"}});
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.rendezvous, "tcp://node1:29500");
  EXPECT_EQ(launch.token, "a secret");
  EXPECT_EQ(launch.iface, "eth1");
  EXPECT_EQ(launch.problem, "");
  EXPECT_TRUE(launch.needs_tcp());
  EXPECT_FALSE(launch.needs_mpi());
  EXPECT_FALSE(launch_in({{"RONDE_RANK", "0"}, {"RONDE_WORLD_SIZE", "1"}}).needs_tcp());
}

TEST(Launch, WrongVariables) {
  EXPECT_EQ(launch_in({{"RONDE_RANK", "0"}}).problem,
            "RONDE_RANK is set, so RONDE_WORLD_SIZE must be a number, but it is not set");
  EXPECT_EQ(launch_in({{"RONDE_RANK", "first"}, {"RONDE_WORLD_SIZE", "2"}}).problem,
            "RONDE_RANK is set, so RONDE_RANK must be a number, but it is first");
  EXPECT_EQ(launch_in({{"RONDE_RANK", "99999999999"}, {"RONDE_WORLD_SIZE", "2"}}).problem,
            "RONDE_RANK is set, so RONDE_RANK must be a number, but it is 99999999999");
  EXPECT_EQ(launch_in({{"RONDE_RANK", "0"}, {"RONDE_WORLD_SIZE", "4294967298"}}).problem,
            "RONDE_RANK is set, so RONDE_WORLD_SIZE must be a number, but it is 4294967298");
  EXPECT_EQ(launch_in({{"RONDE_RANK", "2"}, {"RONDE_WORLD_SIZE", "2"}}).problem,
            "RONDE_RANK 2 is not one of RONDE_WORLD_SIZE 2 ranks");
  EXPECT_EQ(launch_in({{"RONDE_WORLD_SIZE", "2"}}).problem,
            "RONDE_WORLD_SIZE is set, so RONDE_RANK must be a number, but it is not set");
  EXPECT_EQ(launch_in({{"RONDE_WORLD_SIZE", "1"}}).problem, "");
  EXPECT_EQ(launch_in({{"RONDE_WORLD_SIZE", ""}}).problem, "");
  EXPECT_EQ(launch_in({{"RONDE_WORLD_SIZE", "2"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).problem, "");
}

TEST(Cores, ShareOfCommonCores) {
  EXPECT_EQ(fair_share({"11110"}, 0), 4);
  EXPECT_EQ(fair_share({"1111", "1111"}, 1), 2);
  EXPECT_EQ(fair_share({"1111", "1111", "1111"}, 0), 1);
  EXPECT_EQ(fair_share({"111111111", "111111111", "111111111"}, 2), 3);
  // More ranks than cores.
  EXPECT_EQ(fair_share({"11", "11", "11"}, 0), 1);
}

TEST(Cores, BoundRanksKeepTheirOwn) {
  EXPECT_EQ(fair_share({"1100", "0011"}, 1), 2);
  // Two sockets of four, two ranks bound to each.
  EXPECT_EQ(fair_share({"11110000", "11110000", "00001111", "00001111"}, 3), 2);
}

}  // namespace
}  // namespace ronde::test
