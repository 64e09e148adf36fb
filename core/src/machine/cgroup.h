/// What control groups (containers, batch systems) let this process have.
#pragma once

#include <cstdint>
#include <string>

namespace ronde::inline v0 {

struct CgroupLimits {
  double cores = 0.0;       ///< 0: no limit
  std::int64_t memory = 0;  ///< bytes; 0: no limit
};

/// The tightest limits of this process' groups and all groups above them, of both versions of cgroups. Files
/// are looked for below `root`, which tests set.
CgroupLimits cgroup_limits(const std::string& root = "");

}  // namespace ronde::inline v0
