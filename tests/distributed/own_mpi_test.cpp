// An application that starts and ends MPI itself, and lends Ronde a communicator. THREAD_LEVEL says what it
// asked MPI for.
#include <algorithm>
#include <functional>
#include <thread>

#include <mpi.h>

#include <gtest/gtest.h>

#include <ronde/distributed/mpi_communicator.h>
#include <ronde/distributed/runtime.h>
#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"
#include "support/message_of.h"

namespace ronde::test {
namespace {

// All ranks in reverse order.
MPI_Comm make_reversed() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  return reversed;
}

TEST(OwnMpi, LendsACommunicator) {
  MPI_Comm reversed = make_reversed();
  {
    const std::unique_ptr<Communicator> c = make_mpi_communicator(MPI_Comm_c2f(reversed));
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT_EQ(c->rank(), c->size() - 1 - rank);
    EXPECT_EQ(mpi_overlaps(), THREAD_LEVEL == MPI_THREAD_MULTIPLE);
    check_many_in_flight(*c);
    check_contract(*c);
  }
  // The application's communicator is still its own.
  int sum = 1;
  EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, reversed), MPI_SUCCESS);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(sum, size);
  MPI_Comm_free(&reversed);
}

std::string refusal_of(MPI_Comm comm) {
  try {
    make_mpi_communicator(MPI_Comm_c2f(comm));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(OwnMpi, RefusesWhatIsNoGroupOfThisRank) {
  EXPECT_EQ(refusal_of(MPI_COMM_NULL),
            "[mpi] expects a communicator, got MPI_COMM_NULL: is this rank part of it?");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm mine = MPI_COMM_NULL, both = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
  EXPECT_EQ(refusal_of(both), "[mpi] expects a communicator of one group, got an intercommunicator");
  MPI_Comm_free(&both);
  MPI_Comm_free(&mine);
}

// Where MPI itself would do anything at all. What shares memory needs no MPI then.
TEST(OwnMpi, IsCalledByTheThreadThatMpiAllows) {
  const int world = MPI_Comm_c2f(MPI_COMM_WORLD);
  const std::unique_ptr<Communicator> c = make_mpi_communicator(world, AllreducePath::mpi);
  const std::unique_ptr<Communicator> shared = make_mpi_communicator(world, AllreducePath::node);
  std::string of_barrier, of_making, of_shared;
  std::thread([&] {
    of_barrier = message_of([&] { c->barrier().wait(); });
    of_making = message_of([&] { make_mpi_communicator(world); });
    of_shared = message_of([&] { shared->barrier().wait(); });
  }).join();
  const bool is_refused = THREAD_LEVEL < MPI_THREAD_SERIALIZED;
  const std::string refusal =
      "[mpi] the application started MPI for its main thread alone, and this is another one: ask "
      "MPI_Init_thread for MPI_THREAD_MULTIPLE";
  EXPECT_EQ(of_barrier, is_refused ? refusal : "no error");
  EXPECT_EQ(of_making, is_refused ? refusal : "no error");
  EXPECT_EQ(of_shared, "no error");
  expect_usable(*c);
}

// One that has this rank alone, and one that others have not.
TEST(OwnMpi, LendsAPart) {
  EXPECT_EQ(make_mpi_communicator(MPI_Comm_c2f(MPI_COMM_SELF))->size(), 1);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &part);
  if (rank == 0) return;
  const std::unique_ptr<Communicator> c = make_mpi_communicator(MPI_Comm_c2f(part));
  EXPECT_EQ(c->size(), size - 1);
  expect_usable(*c);
  MPI_Comm_free(&part);
}

TEST(OwnMpi, IsTheWorldOfInit) {
  init();
  EXPECT_EQ(world().name(), "mpi");
  EXPECT_EQ(rank(), launch_rank());
  shutdown();
  int finalized = 1;
  MPI_Finalized(&finalized);
  EXPECT_FALSE(finalized);
}

// MPI itself would end the process. Called when MPI has ended.
bool refuses_to_start_after_the_end(Communicator& older) {
  const std::function<void()> starts[] = {[] { init(); }, [] { make_mpi_communicator(0); },
                                          [&] { older.barrier().wait(); }};
  return std::all_of(std::begin(starts), std::end(starts), [](const std::function<void()>& start) {
    return message_of(start).find("MPI_Finalize was called") != std::string::npos;
  });
}

}  // namespace
}  // namespace ronde::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, THREAD_LEVEL, &level);
  if (level < THREAD_LEVEL) return 0;  // this MPI cannot
  const int status = RUN_ALL_TESTS();
  const auto older = ronde::make_mpi_communicator(MPI_Comm_c2f(MPI_COMM_WORLD), ronde::AllreducePath::mpi);
  MPI_Finalize();
  return ronde::test::refuses_to_start_after_the_end(*older) ? status : 1;
}
