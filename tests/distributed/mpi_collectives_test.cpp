// Run by mpirun with several numbers of ranks; every rank runs the same tests in the same order.
#include <ronde/distributed/mpi_communicator.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "collectives/queued_communicator.h"
#include "distributed/collective_values.h"
#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"
#include "mpi/mpi_transport.h"

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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSanitizer = true;  // it needs all addresses there are
#else
constexpr bool kHasSanitizer = false;
#endif

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

// While it lives, this process gets `more` bytes of memory at most.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t more) {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more);
    setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

// bf16 is summed as float, for which one rank has no room: an error of all, and no rank alone inside of MPI.
TEST(MpiCommunicator, MemoryThatOneRankLacks) {
  if (flat().size() == 1 || flat().size() > 3) return;
  const int odd = flat().size() - 1;
  const Tensor data = Tensor::full({16 << 20}, 1.0, host(DType::bf16));
  std::unique_ptr<MemoryLimit> limit;
  if (flat().rank() == odd && !kHasSanitizer) limit = std::make_unique<MemoryLimit>(32 << 20);
  try {
    flat().allreduce(data).wait();
    EXPECT_TRUE(kHasSanitizer);
  } catch (const CollectiveError& error) {
    EXPECT_EQ(error.rank(), odd);
    EXPECT_EQ(std::string(error.what()).find("[allreduce] finds no memory to work in: "), 0U) << error.what();
  }
  limit.reset();
  data.fill(1.0);
  flat().allreduce(data).wait();
  EXPECT_EQ(data.view(data.count() - 1, {1}).to_vector<double>()[0], odd + 1);
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
      part->conclude({.status = ExitStatus::io, .message = "disk full", .patience = 60.0});
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
