#include "timeline/places.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include <ronde/core/machine.h>

namespace ronde::inline v0 {
namespace {

std::string line_of(const char* path) {
  std::array<char, 128> text{};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), &std::fclose);
  if (!file || std::fgets(text.data(), text.size(), file.get()) == nullptr) return "";
  const std::string line = text.data();
  return line.substr(0, line.find('\n'));
}

std::string link_of(const char* path) {
  std::array<char, 128> text{};
  return ::readlink(path, text.data(), text.size() - 1) > 0 ? text.data() : "";
}

// A clock is the machine's since its boot, seen through a namespace.
std::string own_clock() {
  const std::string boot = line_of("/proc/sys/kernel/random/boot_id");
  return boot.empty() ? "" : cat(boot, ' ', link_of("/proc/self/ns/time"));
}

std::string own_process() {
  return cat(own_clock(), ' ', host_name(), ' ', link_of("/proc/self/ns/pid"), ' ', ::getpid());
}

}  // namespace

TimelinePlaces find_timeline_places(Communicator& communicator) {
  const std::vector<std::string> clocks = allgather_strings(communicator, own_clock());
  const std::vector<std::string> processes = allgather_strings(communicator, own_process());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  TimelinePlaces places;
  std::string ranks;
  int sharing = 0;
  for (std::size_t r = 0; r < processes.size(); ++r) {
    const auto first = std::find(processes.begin(), processes.end(), processes[r]) - processes.begin();
    if (first == static_cast<std::ptrdiff_t>(r)) places.recorders.push_back(static_cast<int>(r));
    if (processes[r] == processes[rank]) ranks += cat(sharing++ > 0 ? ", " : " ", r);
  }
  places.records = std::find(places.recorders.begin(), places.recorders.end(), communicator.rank()) !=
                   places.recorders.end();
  places.name = cat(sharing > 1 ? "ranks" : "rank", ranks, " (", host_name(), ")");
  places.has_clock_of_rank_0 = !clocks[rank].empty() && clocks[rank] == clocks[0];
  return places;
}

}  // namespace ronde::inline v0
