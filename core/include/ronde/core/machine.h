/// Machine: what this process may use of the machine it runs on, as the kernel says it.
///
///     const Machine machine = this_machine();
///     machine.usable_cores();   // 2: eight cores, but `taskset -c 0,1`, or a container's limit
///
/// Read anew with each call (a few files of /proc and /sys); from any thread, whose affinity it tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

struct NetworkInterface {
  std::string name;                    ///< "eth0"
  std::vector<std::string> addresses;  ///< IPv4 and IPv6, as text
  bool is_enabled = false;             ///< by whoever administers it
  bool is_up = false;                  ///< and connected
  bool is_loopback = false;
  double bits_per_second = 0.0;  ///< 0: it does not say, as most of virtual machines
};

struct Machine {
  std::string host;
  std::string system;                 ///< "Linux 6.1.0 x86_64"
  std::string processor;              ///< "AMD EPYC 9B45"
  std::vector<std::string> features;  ///< of the processor, those that kernels ask for: "avx2", "fma", ...
  std::vector<int> cores;             ///< that may be used (affinity), by the kernel's numbers; threads of a
                                      ///< core that runs several count each
  int physical_cores = 0;             ///< that `cores` belong to
  int numa_nodes = 0;                 ///< that `cores` belong to
  double core_limit = 0.0;            ///< a cgroup's, in cores; 0: none
  std::int64_t memory = 0;            ///< bytes
  std::int64_t memory_limit = 0;      ///< a cgroup's; 0: none
  std::int64_t shared_memory = 0;     ///< size of /dev/shm; 0: there is none
  std::int64_t shared_memory_free = 0;
  std::vector<NetworkInterface> networks;

  /// How many threads can compute at once: at least 1.
  RONDE_API int usable_cores() const;
};

RONDE_API Machine this_machine();

/// Parts of it that are often wanted alone. Interfaces are in the kernel's order.
RONDE_API std::string host_name();
RONDE_API std::vector<NetworkInterface> network_interfaces();

/// Of a small file, as those of /proc and /sys are; empty when it cannot be read.
RONDE_API std::string first_line(const std::string& path);

/// {0, 1, 2, 5} -> "0-2,5"
RONDE_API std::string core_ranges(const std::vector<int>& cores);

}  // namespace ronde::inline v0
