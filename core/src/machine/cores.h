/// Cores that a thread may run on, and how they belong together.
#pragma once

#include <string>
#include <vector>

namespace ronde::inline v0 {

/// Of the calling thread, ascending.
std::vector<int> allowed_cores();
/// "0-2,5" -> {0, 1, 2, 5}, as the kernel writes them.
std::vector<int> parse_core_ranges(const std::string& text);
/// How many physical cores these are; as many as given when the kernel does not say. See cgroup_limits.
int count_physical_cores(const std::vector<int>& cores, const std::string& root = "");
/// How many NUMA nodes these are on; at least 1.
int count_numa_nodes(const std::vector<int>& cores, const std::string& root = "");

}  // namespace ronde::inline v0
