/// How much memory this process has, and had at most.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "backend/cpu/huge_slabs.h"

namespace ronde::test {

/// A sanitizer keeps what is freed.
inline bool memory_can_be_measured() {
  return HugeSlabs::takes(300000);
}

/// Of this process, in memory now.
inline std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// By how much more than before the call this process has in memory at some time during it.
template <class F>
std::size_t growth_during(F&& f) {
  const std::size_t before = resident_bytes();
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  f();
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t kilobytes = 0;
  while (status >> word && word != "VmHWM:") continue;
  status >> kilobytes;
  return kilobytes * 1024 > before ? kilobytes * 1024 - before : 0;
}

}  // namespace ronde::test
