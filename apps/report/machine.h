/// The machine and the process, in words: for reports and `ronde info`.
#pragma once

#include <cstdint>
#include <string>

namespace ronde::apps {

struct Machine {
  std::string host;
  std::string processor;          ///< "AMD EPYC 9B45"
  int cores = 0;                  ///< that this process may use: its affinity, a container's limit too
  double core_limit = 0.0;        ///< of the container, in cores; 0: none
  std::int64_t memory = 0;        ///< bytes of the machine
  std::int64_t memory_limit = 0;  ///< of the container; 0: none
  std::string system;             ///< "Linux 6.1.0 x86_64"
};

Machine this_machine();
/// "node1: AMD EPYC 9B45, 2 cores, 23 GB, Linux 6.1.0 x86_64"
std::string machine_description();

/// What this process was started with, as one would type it: "mpirun -np 2 train_mnist --epochs 3".
std::string run_command(int world_size);
/// "2026-11-21 10:45 UTC"
std::string utc_now();

}  // namespace ronde::apps
