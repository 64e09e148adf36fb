// Run by mpirun with several numbers of ranks; every rank runs the same tests in the same order.
#include <ronde/distributed/mpi_communicator.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"
#include "mpi/mpi_transport.h"
#include "queued_communicator.h"

namespace ronde::test {
namespace {

Communicator& world() {
  static const std::unique_ptr<Communicator> communicator = make_mpi_communicator();
  return *communicator;
}

// MPI alone, without shared memory of ours.
Communicator& flat() {
  static const std::unique_ptr<Communicator> communicator = make_mpi_communicator(AllreducePath::mpi);
  return *communicator;
}

// More than this machine has cores, perhaps: then a part of the cases says enough.
bool has_many_ranks() {
  return world().size() > 4;
}

// A communicator whose single MPI calls move at most `largest_count` elements.
std::unique_ptr<Communicator> make_piecewise(std::int64_t largest_count) {
  const std::shared_ptr<MpiRuntime> runtime = MpiRuntime::get();
  std::unique_ptr<Transport> transport;
  runtime->executor()
      ->submit([&] {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        transport = std::make_unique<MpiTransport>(*runtime, comm, largest_count);
      })
      ->wait();
  return std::make_unique<QueuedCommunicator>(std::move(transport), runtime->executor());
}

TEST(MpiCommunicator, Collectives) {
  has_many_ranks() ? check_some_collectives(world()) : check_collectives(world());
}
TEST(MpiCommunicator, Contract) {
  check_contract(world());
}
TEST(MpiCommunicator, FlatContract) {
  check_contract(flat());
}

// With an MPI that knows threads, groups do not wait for each other.
TEST(MpiCommunicator, GroupsAtOnce) {
  check_groups_at_once(world());
  if (MpiRuntime::get()->allows_threads()) check_groups_at_once(flat());
}

// What would need more than 2^31 elements is tested with a smaller limit.
TEST(MpiCommunicator, LargeCountsAreCutIntoPieces) {
  const std::unique_ptr<Communicator> pieces = make_piecewise(777);
  has_many_ranks() ? check_some_collectives(*pieces) : check_collectives(*pieces);
}

TEST(MpiCommunicator, AllRanksAreOnOneNode) {
  EXPECT_EQ(world().name(), "mpi");
  EXPECT_EQ(world().local_rank(), world().rank());
  EXPECT_EQ(world().local_size(), world().size());
  EXPECT_EQ(world().cross_rank(), 0);
  EXPECT_EQ(world().cross_size(), 1);
  EXPECT_TRUE(mpi_overlaps());
  EXPECT_TRUE(mpi_is_running());
  EXPECT_FALSE(mpi_library_version().empty());
}

TEST(MpiCommunicator, OverTheApplicationsCommunicator) {
  int handle = 0;
  MpiRuntime::get()->executor()->submit([&] { handle = MPI_Comm_c2f(MPI_COMM_WORLD); })->wait();
  const std::unique_ptr<Communicator> own = make_mpi_communicator(handle);
  EXPECT_EQ(own->rank(), world().rank());
  std::vector<double> one{1.0};
  allreduce_values(*own, one);
  EXPECT_EQ(one[0], own->size());
}

// Processor time, not wall time: all threads of this process together. Who spins uses all of the second; the
// limit is far from that and from what sleeping costs, even under a sanitizer.
TEST(MpiCommunicator, WaitingCostsLittleProcessorTime) {
  flat().barrier().wait();
  const std::clock_t before = std::clock();
  if (flat().rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  flat().barrier().wait();
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used, 0.5);
  RecordProperty("processor_seconds_per_second", std::to_string(used));
}

TEST(MpiCommunicator, ConcludeBringsTheErrorToAll) {
  const std::unique_ptr<Communicator> part = flat().split(0, flat().rank());
  const int last = part->size() - 1;
  try {
    if (part->rank() == last) {
      part->conclude({ExitStatus::io, "disk full", -1, 60.0});
    } else {
      const Work pending = part->barrier();
      part->barrier().wait();
    }
    ADD_FAILURE() << "no error";
  } catch (const CollectiveError& error) {
    EXPECT_STREQ(error.what(), "disk full");
    EXPECT_EQ(error.rank(), last);
    EXPECT_EQ(error.status(), ExitStatus::io);
  }
  EXPECT_THROW(part->barrier().wait(), CollectiveError);
}

}  // namespace
}  // namespace ronde::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
