/// MpiCommunicator: ranks are processes that mpirun or srun started.
///
/// One worker thread per process starts MPI and makes all its calls, in the order in which operations were
/// started, so a plain MPI library without thread support is enough. A rank that waits for others sleeps.
/// In an application that started MPI itself: with MPI_THREAD_MULTIPLE the worker uses a duplicate of the
/// communicator; with less, collectives that need MPI run on the calling thread, which must be the one MPI
/// allows, and do not overlap (`mpi_overlaps()` is false): a UsageError on another one, and after
/// MPI_Finalize. MPI is finalised once, at exit, by whoever started it.
///
/// Errors of MPI become `Error`s with MPI's own text, the collective and the rank.
#pragma once

#include <memory>
#include <string>

#include <ronde/distributed/allreduce_path.h>
#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

/// Whether this build can use MPI.
RONDE_API bool has_mpi();
/// "Open MPI v4.1.4"; empty in a build without MPI. Does not start MPI.
RONDE_API std::string mpi_library_version();
/// Whether somebody, Ronde or the application, has started MPI in this process.
RONDE_API bool mpi_is_running();
/// What this process' MPI allows: "MPI_THREAD_FUNNELED"; empty when it is not running. Does not start MPI.
RONDE_API std::string mpi_thread_level();
/// Whether collectives run while their caller goes on. Starts MPI.
RONDE_API bool mpi_overlaps();

/// All processes of the job; starts MPI if nobody did. What is left automatic follows $RONDE_ALLREDUCE; see
/// AllreducePath. Collective.
RONDE_API std::unique_ptr<Communicator> make_mpi_communicator(AllreducePath path = AllreducePath::automatic);
/// Over a duplicate of the application's own communicator, which is given as the number that
/// `MPI_Comm_c2f(comm)` returns: so no header here needs mpi.h. Collective over that communicator.
RONDE_API std::unique_ptr<Communicator> make_mpi_communicator(int fortran_handle,
                                                              AllreducePath path = AllreducePath::automatic);

/// Ends the whole job with this status, as MPI_Abort does; from any thread. Does not return. For `main`
/// functions only; `run_main` calls it.
[[noreturn]] RONDE_API void abort_mpi_job(ExitStatus status);

}  // namespace ronde::inline v0
