#include <ronde/core/machine.h>

#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include <ronde/core/text.h>

#include "machine/cgroup.h"
#include "machine/cores.h"

namespace ronde::inline v0 {
namespace {

// What Ronde's kernels and oneDNN's choose by.
constexpr const char* kFeatures[] = {"sse4_2",   "avx",         "avx2",        "fma",         "avx512f",
                                     "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
                                     "amx_bf16", "amx_int8",    "asimd",       "sve",         "sve2",
                                     "bf16",     "i8mm"};

// The value of the first line "key : value" of /proc/cpuinfo.
std::string processor_info(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// ARM's kernels give numbers instead of a name.
std::string processor_name() {
  const std::string name = processor_info("model name"), maker = processor_info("CPU implementer");
  if (!name.empty() || maker.empty()) return name;
  return cat("ARM, implementer ", maker, ", part ", processor_info("CPU part"));
}

std::vector<std::string> processor_features() {
  std::string all = processor_info("flags");
  if (all.empty()) all = processor_info("Features");  // as ARM's kernels call them
  all = cat(' ', all, ' ');
  std::vector<std::string> found;
  for (const char* feature : kFeatures)
    if (all.find(cat(' ', feature, ' ')) != std::string::npos) found.emplace_back(feature);
  return found;
}

void read_shared_memory(Machine& machine) {
  struct statvfs disk {};
  if (statvfs("/dev/shm", &disk) != 0) return;
  machine.shared_memory = static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize);
  machine.shared_memory_free = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
}

}  // namespace

int Machine::usable_cores() const {
  const auto allowed = static_cast<double>(cores.size());
  // A limit of 1.5 cores keeps two threads busy, each part of the time.
  const double limited = core_limit > 0.0 ? std::min(allowed, std::ceil(core_limit)) : allowed;
  return std::max(1, static_cast<int>(limited));
}

std::string host_name() {
  utsname system{};
  return uname(&system) == 0 ? system.nodename : "";
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Machine this_machine() {
  Machine machine;
  utsname system{};
  if (uname(&system) == 0) {
    machine.host = system.nodename;
    machine.system = cat(system.sysname, " ", system.release, " ", system.machine);
  }
  machine.processor = processor_name();
  machine.features = processor_features();
  machine.cores = allowed_cores();
  machine.physical_cores = count_physical_cores(machine.cores);
  machine.numa_nodes = count_numa_nodes(machine.cores);
  machine.memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const CgroupLimits limits = cgroup_limits();
  machine.core_limit = limits.cores;
  // A group may be given more than there is.
  machine.memory_limit = limits.memory < machine.memory ? limits.memory : 0;
  read_shared_memory(machine);
  machine.networks = network_interfaces();
  return machine;
}

}  // namespace ronde::inline v0
