/// The process as a rank: Horovod's verbs over one world communicator.
///
///     int main(int argc, char** argv) {
///       return ronde::run_main(argc, argv, [](ronde::Communicator& world) { ... });
///     }
///
/// or, as with Horovod, `ronde::init(argc, argv); ... ronde::shutdown();`.
#pragma once

#include <functional>

#include <ronde/distributed/communicator.h>
#include <ronde/distributed/world.h>

namespace ronde::inline v0 {

/// Connects the ranks of $RONDE_RENDEZVOUS (tcp_communicator.h) when $RONDE_RANK is set, else starts MPI
/// (from Ronde's worker thread) when this process was launched by mpirun or srun, else makes a world of one
/// rank; and gives every backend this rank's share of the node's cores as threads, unless $RONDE_THREADS says
/// otherwise. A second call does nothing, from another thread too. Collective.
RONDE_API void init(int argc = 0, char** argv = nullptr);
/// Waits for the other ranks and frees the world; MPI itself is finalised at exit, so `init` may be called
/// again. A rank that still wanted a collective gets an error, and when one has failed
/// (`Communicator::conclude`) its error is thrown here; the world is gone even then. Collective.
RONDE_API void shutdown();
RONDE_API bool is_initialized();
RONDE_API int rank();
RONDE_API int size();
RONDE_API int local_rank();
RONDE_API int local_size();
RONDE_API int cross_rank();
RONDE_API int cross_size();

/// Rank of this process as its launcher told it through the environment (Open MPI, PMIx, Slurm), 0 when
/// alone. Needs no init.
RONDE_API int launch_rank();
/// Whether one of these has started it, perhaps as one rank of several. Needs no init.
RONDE_API bool was_launched();

/// Body of a program's `main`: init, `body(world())`, shutdown; returns the exit status. An exception on any
/// rank becomes one line on stderr, `ronde: [rank 2] message` (`ronde: message` in a world of one), printed
/// by the lowest rank that failed, and ends the whole job within seconds with its status: the other ranks
/// learn of it in the collective they wait in or start next; those that do not within 3 seconds are ended by
/// MPI_Abort.
RONDE_API int run_main(int argc, char** argv, const std::function<void(Communicator&)>& body);

}  // namespace ronde::inline v0
