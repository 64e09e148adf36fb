#include "cores.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <sched.h>

namespace ronde::inline v0 {
namespace {

std::string own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "1";
  std::string cores(CPU_SETSIZE, '0');
  for (std::size_t c = 0; c < cores.size(); ++c) {
    if (CPU_ISSET(c, &set)) cores[c] = '1';
  }
  return cores;
}

std::string cpu_max() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

int cgroup_cores(const std::string& cpu_max) {
  long long quota = 0;
  long long period = 0;
  if (std::sscanf(cpu_max.c_str(), "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) return 0;
  return static_cast<int>((quota + period - 1) / period);
}

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
  int share = 1;
  if (world.size() == 1) {
    share = fair_share({own_cores()}, 0);
  } else {
    const std::unique_ptr<Communicator> node = world.split(world.cross_rank(), world.rank());
    share = fair_share(allgather_strings(*node, own_cores()), static_cast<std::size_t>(node->rank()));
  }
  const int allowed = cgroup_cores(cpu_max());
  return allowed == 0 ? share : std::min(share, std::max(1, allowed / world.local_size()));
}

}  // namespace ronde::inline v0
