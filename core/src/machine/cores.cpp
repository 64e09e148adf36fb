#include "machine/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <set>

#include <ronde/core/machine.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {
namespace {

constexpr int kMostCores = 1 << 16;

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

std::vector<int> allowed_cores() {
  // The kernel refuses a set that is smaller than its own.
  for (int size = CPU_SETSIZE; size <= kMostCores; size *= 2) {
    const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(size));
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cores;
    for (int core = 0; core < size; ++core)
      if (CPU_ISSET_S(core, bytes, set.get())) cores.push_back(core);
    return cores;
  }
  return {0};
}

std::vector<int> parse_core_ranges(const std::string& text) {
  std::vector<int> cores;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc()) return cores;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    for (int core = first; core <= std::min(last, kMostCores); ++core) cores.push_back(core);
    at = parsed.ptr + 1;
  }
  return cores;
}

int count_physical_cores(const std::vector<int>& cores, const std::string& root) {
  std::set<std::string> siblings;
  for (const int core : cores) {
    const std::string line =
        first_line(cat(root, "/sys/devices/system/cpu/cpu", core, "/topology/thread_siblings_list"));
    siblings.insert(line.empty() ? std::to_string(core) : line);
  }
  return static_cast<int>(siblings.size());
}

int count_numa_nodes(const std::vector<int>& cores, const std::string& root) {
  const std::string nodes = root + "/sys/devices/system/node/";
  int count = 0;
  for (const int node : parse_core_ranges(first_line(nodes + "online"))) {
    const std::vector<int> members = parse_core_ranges(first_line(cat(nodes, "node", node, "/cpulist")));
    count += std::any_of(members.begin(), members.end(), [&](int core) {
      return std::find(cores.begin(), cores.end(), core) != cores.end();
    });
  }
  return std::max(1, count);
}

std::string core_ranges(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t j = i;
    while (j + 1 < cores.size() && cores[j + 1] == cores[j] + 1) ++j;
    text += cat(text.empty() ? "" : ",", cores[i]);
    if (j > i) text += cat("-", cores[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace ronde::inline v0
