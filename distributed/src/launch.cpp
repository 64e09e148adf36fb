#include "launch.h"

#include <array>
#include <cstdlib>

namespace ronde::inline v0 {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;  // nullptr: it has no such variable
};

// The first whose rank is set. Inside a batch script Slurm sets SLURM_PROCID and SLURM_NTASKS too, but only
// srun says how many tasks its step has.
constexpr std::array kLaunchers{
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"MPICH", "PMI_RANK", "PMI_SIZE"},
    Launcher{"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    Launcher{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    Launcher{"PMIx", "PMIX_RANK", nullptr},
};

}  // namespace

Launch read_launch(const char* (*get)(const char* name)) {
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = get(launcher.rank);
    const char* size = launcher.size ? get(launcher.size) : "0";
    if (rank && size) return {launcher.name, std::atoi(rank), std::atoi(size)};
  }
  return {};
}

Launch read_launch() {
  return read_launch([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace ronde::inline v0
