#include "launch/cores.h"

#include <algorithm>
#include <cmath>

#include <ronde/core/machine.h>

namespace ronde::inline v0 {
namespace {

// "0110": cores 1 and 2.
std::string core_set(const Machine& machine) {
  std::string set;
  for (const int core : machine.cores) {
    set.resize(static_cast<std::size_t>(core), '0');
    set += '1';
  }
  return set;
}

}  // namespace

int fair_share(const std::vector<std::string>& core_sets, std::size_t self) {
  double share = 0.0;
  for (std::size_t c = 0; c < core_sets[self].size(); ++c) {
    if (core_sets[self][c] != '1') continue;
    const auto sharers = std::count_if(core_sets.begin(), core_sets.end(), [&](const std::string& set) {
      return c < set.size() && set[c] == '1';
    });
    share += 1.0 / static_cast<double>(sharers);
  }
  // Rounded down, but 3 * (1 / 3) is 1.
  return std::max(1, static_cast<int>(share + 1e-6));
}

int fair_threads(Communicator& world) {
  const Machine machine = this_machine();
  int share = 1;
  if (world.size() == 1) {
    share = fair_share({core_set(machine)}, 0);
  } else {
    const std::unique_ptr<Communicator> node = world.split(world.cross_rank(), world.rank());
    share = fair_share(allgather_strings(*node, core_set(machine)), static_cast<std::size_t>(node->rank()));
  }
  if (machine.core_limit == 0.0) return share;
  const auto allowed = static_cast<int>(std::ceil(machine.core_limit));  // of all ranks of the node
  return std::min(share, std::max(1, allowed / world.local_size()));
}

}  // namespace ronde::inline v0
