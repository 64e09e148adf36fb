#include "launch/launch.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;  // nullptr: it has no such variable
  bool loses_exits = false;
};

// The first whose rank is set. Inside a batch script Slurm sets SLURM_PROCID and SLURM_NTASKS too, but only
// srun says how many tasks its step has.
constexpr std::array kLaunchers{
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"MPICH", "PMI_RANK", "PMI_SIZE", true},
    Launcher{"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    Launcher{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    Launcher{"PMIx", "PMIX_RANK", nullptr},
};

std::string text_or_empty(const char* value) {
  return value ? value : "";
}

// A secret that was read from a file, as Kubernetes keeps them, may have one.
std::string without_line_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

// Variables that a person or a script has set, so they may be wrong.
Launch read_variables(const char* (*get)(const char* name)) {
  Launch launch{.launcher = Launch::kByVariables};
  const auto number = [&](const char* name, int& value) {
    const char* text = get(name);
    const char* end = text ? text + std::strlen(text) : nullptr;
    const auto [rest, error] = std::from_chars(text, end, value);
    const bool is_number = text && *text && error == std::errc() && rest == end && value >= 0;
    if (!is_number && launch.problem.empty())
      launch.problem = cat(get("RONDE_RANK") ? "RONDE_RANK" : "RONDE_WORLD_SIZE", " is set, so ", name,
                           " must be a number, but it is ", text && *text ? text : "not set");
  };
  number("RONDE_RANK", launch.rank);
  number("RONDE_WORLD_SIZE", launch.size);
  launch.rendezvous = text_or_empty(get("RONDE_RENDEZVOUS"));
  launch.token = without_line_end(text_or_empty(get("RONDE_TOKEN")));
  launch.iface = text_or_empty(get("RONDE_IFACE"));
  if (launch.problem.empty() && launch.rank >= launch.size)
    launch.problem =
        cat("RONDE_RANK ", launch.rank, " is not one of RONDE_WORLD_SIZE ", counted(launch.size, "rank"));
  return launch;
}

}  // namespace

Launch read_launch(const char* (*get)(const char* name)) {
  if (get("RONDE_RANK")) return read_variables(get);
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = get(launcher.rank);
    const char* size = launcher.size ? get(launcher.size) : "0";
    if (rank && size)
      return {.launcher = launcher.name,
              .rank = std::atoi(rank),
              .size = std::atoi(size),
              .loses_exits = launcher.loses_exits};
  }
  // Else each of them would be a job of its own, and write where the others do.
  if (const std::string size = text_or_empty(get("RONDE_WORLD_SIZE")); !size.empty() && size != "1")
    return read_variables(get);
  return {};
}

Launch read_launch() {
  return read_launch([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace ronde::inline v0
