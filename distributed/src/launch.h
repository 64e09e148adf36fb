/// What the launcher (mpirun, srun) told this process through its environment.
#pragma once

#include <string>

namespace ronde::inline v0 {

struct Launch {
  /// "Open MPI", "PMIx", "Slurm", ...; empty when started alone.
  std::string launcher;
  int rank = 0;
  /// 0: a launcher that does not tell.
  int size = 1;
  /// Whether MPI has to be started to find the other ranks.
  bool needs_mpi() const { return !launcher.empty() && size != 1; }
};

/// Reads variables with `get`, which returns nullptr for one that is not set, as std::getenv does.
Launch read_launch(const char* (*get)(const char* name));
/// From the environment of this process.
Launch read_launch();

}  // namespace ronde::inline v0
