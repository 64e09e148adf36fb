/// Where the ranks of a timeline are: which of them share a process, and which a clock.
#pragma once

#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

struct TimelinePlaces {
  std::vector<int> recorders;        ///< the lowest rank of each process
  std::string name;                  ///< of this rank's process: "rank 0 (node1)", "ranks 0, 1 (node1)"
  bool records = false;              ///< whether this rank is one of the recorders
  bool has_clock_of_rank_0 = false;  ///< both booted together
};

/// Collective.
TimelinePlaces find_timeline_places(Communicator& communicator);

}  // namespace ronde::inline v0
