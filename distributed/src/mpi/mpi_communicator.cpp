#include <ronde/distributed/mpi_communicator.h>

#include "collectives/queued_communicator.h"
#include "mpi/library_name.h"
#include "mpi/mpi_transport.h"
#include "shm/node_transport.h"
#include "shm/with_shared_memory.h"

namespace ronde::inline v0 {
namespace {

// MPI would end the job, or worse.
void check_comm(MPI_Comm comm) {
  require<UsageError>(comm != MPI_COMM_NULL,
                      "[mpi] expects a communicator, got MPI_COMM_NULL: is this rank part of it?");
  int has_two_groups = 0;
  check_mpi(MPI_Comm_test_inter(comm, &has_two_groups), "MPI_Comm_test_inter", 0);
  require<UsageError>(!has_two_groups, "[mpi] expects a communicator of one group, got an intercommunicator");
}

std::unique_ptr<Communicator> duplicate(int fortran_handle, AllreducePath path) {
  const std::shared_ptr<MpiRuntime> runtime = MpiRuntime::get();
  std::unique_ptr<Transport> transport;
  runtime->executor()
      ->submit([&] {
        runtime->check_may_call();
        const MPI_Comm given = MPI_Comm_f2c(fortran_handle);
        check_comm(given);
        MPI_Comm comm = MPI_COMM_NULL;
        check_mpi(MPI_Comm_dup(given, &comm), "MPI_Comm_dup", 0);
        transport = with_shared_memory(
            std::make_unique<MpiTransport>(*runtime, comm),
            {.path = path, .idle = [at = runtime.get()] { at->end_job_if_asked(); }, .owner = runtime});
      })
      ->wait();
  // On one node MPI has done its part: a thread of its own overlaps whatever MPI's thread may, and leaves
  // that to end the job. Else the communicator owns the runtime through its executor.
  std::shared_ptr<Executor> executor(runtime, runtime->executor().get());
  if (dynamic_cast<const NodeTransport*>(transport.get())) executor = std::make_shared<WorkerThread>();
  return std::make_unique<QueuedCommunicator>(std::move(transport), std::move(executor));
}

}  // namespace

bool has_mpi() {
  return true;
}

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return library_name(std::string(text, static_cast<std::size_t>(length)));
}

bool mpi_is_running() {
  int started = 0;
  int finalized = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&finalized);
  return started && !finalized;
}

std::string mpi_thread_level() {
  if (!mpi_is_running()) return "";
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
  return level == MPI_THREAD_MULTIPLE ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SINGLE";
}

bool mpi_overlaps() {
  return MpiRuntime::get()->executor()->overlaps();
}

std::unique_ptr<Communicator> make_mpi_communicator(AllreducePath path) {
  MpiRuntime::get();  // MPI must run before it is asked for the number of its world
  return duplicate(MPI_Comm_c2f(MPI_COMM_WORLD), path);
}

std::unique_ptr<Communicator> make_mpi_communicator(int fortran_handle, AllreducePath path) {
  return duplicate(fortran_handle, path);
}

void abort_mpi_job(ExitStatus status) {
  MpiRuntime::get()->end_job(static_cast<int>(status));
}

}  // namespace ronde::inline v0
