/// What the launcher (mpirun, srun, or whoever sets RONDE_RANK) told this process through its environment.
#pragma once

#include <string>

namespace ronde::inline v0 {

struct Launch {
  /// "Open MPI", "PMIx", "Slurm", ...; empty when started alone.
  std::string launcher;
  int rank = 0;
  /// 0: a launcher that does not tell.
  int size = 1;
  /// $RONDE_RENDEZVOUS, $RONDE_TOKEN and $RONDE_IFACE, if $RONDE_RANK is set.
  std::string rendezvous = {};
  std::string token = {};
  std::string iface = {};  ///< $RONDE_IFACE
  /// Whether a rank that leaves without MPI_Finalize may have the launcher kill the others and report that,
  /// not the rank's status; that of MPI_Abort it reports. So does Hydra, mpiexec of MPICH: once in five
  /// times.
  bool loses_exits = false;
  /// What is wrong with these variables; empty: nothing.
  std::string problem = {};
  bool needs_tcp() const { return launcher == kByVariables && size != 1; }
  /// Whether MPI has to be started to find the other ranks.
  bool needs_mpi() const { return !launcher.empty() && size != 1 && !needs_tcp(); }

  static constexpr const char* kByVariables = "RONDE_RANK";
};

/// Reads variables with `get`, which returns nullptr for one that is not set, as std::getenv does.
Launch read_launch(const char* (*get)(const char* name));
/// From the environment of this process.
Launch read_launch();

}  // namespace ronde::inline v0
