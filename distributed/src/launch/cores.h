/// How many threads a rank should use.
#pragma once

#include <string>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

/// This rank's share of the cores it may run on, which it may have to share with other ranks of its node
/// (with `mpirun --bind-to none` all of them, with `--bind-to socket` some, with `--bind-to core` none); at
/// least 1. Collective.
int fair_threads(Communicator& world);

/// The share of rank `self`, given each local rank's set of cores ("0110": cores 1 and 2).
int fair_share(const std::vector<std::string>& core_sets, std::size_t self);

}  // namespace ronde::inline v0
