#include "machine/cgroup.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include <ronde/core/machine.h>

namespace ronde::inline v0 {
namespace {

constexpr const char* kMount = "/sys/fs/cgroup";
/// Version 1 says "no limit" as a number near 2^63.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

// Zero means that there is no limit yet.
template <class T>
void tighten(T& limit, T other) {
  if (other > 0 && (limit == 0 || other < limit)) limit = other;
}

// "/a/b" -> {"/a/b", "/a", ""}
std::vector<std::string> with_parents(std::string path) {
  if (path == "/") path.clear();
  std::vector<std::string> paths{path};
  while (!path.empty()) {
    path.erase(path.rfind('/'));
    paths.push_back(path);
  }
  return paths;
}

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    if (names.substr(0, comma) == name) return true;
    names.remove_prefix(comma == std::string_view::npos ? names.size() : comma + 1);
  }
  return false;
}

double cores_of(const std::string& quota_and_period) {
  double quota = 0.0, period = 0.0;
  const int found = std::sscanf(quota_and_period.c_str(), "%lf %lf", &quota, &period);
  return found == 2 && quota > 0.0 && period > 0.0 ? quota / period : 0.0;
}

std::int64_t bytes_of(const std::string& line) {
  const std::int64_t bytes = std::atoll(line.c_str());  // 0 for "max"
  return bytes < kUnlimited ? bytes : 0;
}

void add_version2(const std::string& mount, const std::string& group, CgroupLimits& limits) {
  for (const std::string& path : with_parents(group)) {
    tighten(limits.cores, cores_of(first_line(mount + path + "/cpu.max")));  // "200000 100000", "max 100000"
    tighten(limits.memory, bytes_of(first_line(mount + path + "/memory.max")));
  }
}

void add_version1(const std::string& root, std::string_view controllers, const std::string& group,
                  CgroupLimits& limits) {
  for (const std::string& path : with_parents(group)) {
    if (lists(controllers, "cpu")) {
      const std::string directory = root + kMount + "/cpu" + path;
      tighten(limits.cores, cores_of(first_line(directory + "/cpu.cfs_quota_us") + " " +
                                     first_line(directory + "/cpu.cfs_period_us")));
    }
    if (lists(controllers, "memory"))
      tighten(limits.memory,
              bytes_of(first_line(root + kMount + "/memory" + path + "/memory.limit_in_bytes")));
  }
}

}  // namespace

CgroupLimits cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/job/1", or "0::/job/1" of version 2
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (!controllers.empty()) {
      add_version1(root, controllers, group, limits);
    } else {
      add_version2(root + kMount, group, limits);
      add_version2(root + kMount + "/unified", group, limits);  // beside version 1
    }
  }
  return limits;
}

}  // namespace ronde::inline v0
