#include <cstdlib>

#include <ronde/distributed/mpi_communicator.h>

namespace ronde::inline v0 {
namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      "[mpi] this build of Ronde has no MPI; on Debian: apt-get install libopenmpi-dev, then build again");
}

}  // namespace

bool has_mpi() {
  return false;
}
std::string mpi_library_version() {
  return {};
}
bool mpi_is_running() {
  return false;
}
std::string mpi_thread_level() {
  return {};
}
bool mpi_overlaps() {
  return false;
}
std::unique_ptr<Communicator> make_mpi_communicator(AllreducePath) {
  refuse();
}
std::unique_ptr<Communicator> make_mpi_communicator(int, AllreducePath) {
  refuse();
}
void abort_mpi_job(ExitStatus status) {
  std::_Exit(static_cast<int>(status));
}

}  // namespace ronde::inline v0
