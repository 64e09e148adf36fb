// checkpoint_rig kills|faults|cuts|disks|mutants|injections|costs [--trials N] [--seed N]
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

#include "rigs/checkpoints/rigs.h"

namespace ronde::rigs {

int in_child(int (*body)(void*), void* argument) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 1;
    try {
      status = body(argument);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "  %s\n", error.what());
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

namespace {

int usage() {
  std::fputs("checkpoint_rig kills|faults|cuts|disks|mutants|injections|costs [--trials N] [--seed N]\n",
             stderr);
  return 2;
}

bool run(const std::string& rig, const RigOptions& options) {
  if (rig == "kills") return run_kills(options);
  if (rig == "faults") return run_faults();
  if (rig == "cuts") return run_power_cuts();
  if (rig == "disks") return run_disks(options);
  if (rig == "mutants") return run_mutants(options);
  if (rig == "injections") return run_injections(options);
  return measure_costs();
}

}  // namespace
}  // namespace ronde::rigs

int main(int argc, char** argv) {
  using namespace ronde::rigs;
  if (argc < 2 || argc % 2 != 0) return usage();
  const std::string rig = argv[1];
  const std::map<std::string, std::int64_t> trials{{"kills", 25}, {"faults", 0},    {"cuts", 0},
                                                   {"disks", 20}, {"mutants", 600}, {"injections", 20},
                                                   {"costs", 0}};
  if (trials.count(rig) == 0) return usage();
  RigOptions options{.trials = trials.at(rig)};
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::int64_t value = std::atoll(argv[i + 1]);
    if (name == "--trials")
      options.trials = value;
    else if (name == "--seed")
      options.seed = static_cast<std::uint64_t>(value);
    else
      return usage();
  }
  const bool is_good = run(rig, options);
  std::printf("%s: %s\n", rig.c_str(), is_good ? "as it must be" : "FAILED");
  return is_good ? 0 : 1;
}
