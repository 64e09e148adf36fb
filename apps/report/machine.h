/// The machine and the process, in words: for reports.
#pragma once

#include <string>

namespace ronde::apps {

/// "node1: AMD EPYC 9B45, 2 cores, 23 GB, Linux 6.1.0 x86_64"
std::string machine_description();

/// What this process was started with, as one would type it: "mpirun -np 2 train_mnist --epochs 3".
std::string run_command(int world_size);
/// "2026-11-21 10:45 UTC"
std::string utc_now();

}  // namespace ronde::apps
