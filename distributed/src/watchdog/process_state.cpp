#include "watchdog/process_state.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <ronde/core/text.h>

namespace ronde::inline v0 {
namespace {

// The value behind "TracerPid:\t" and the like; empty: none.
std::string status_of(int process, const std::string& key) {
  FILE* file = std::fopen(cat("/proc/", process, "/status").c_str(), "re");
  if (!file) return "";
  std::array<char, 256> line{};
  std::string value;
  while (value.empty() && std::fgets(line.data(), line.size(), file)) {
    const std::string text = line.data();
    if (text.starts_with(key + ":\t")) value = text.substr(key.size() + 2);
  }
  std::fclose(file);
  return value;
}

}  // namespace

char process_state(int process) {
  const std::string state = status_of(process, "State");
  return state.empty() ? '\0' : state[0];
}

bool is_traced(int process) {
  return std::atoi(status_of(process, "TracerPid").c_str()) != 0;
}

std::string state_text(char state) {
  switch (state) {
    case 'T':
      return "is stopped (SIGSTOP)";
    case 'D':
      return "waits for a disk or a network file system";
    case 'R':
      return "computes";
    case 'S':
      return "sleeps in its own code";
    case 'Z':
    case 'X':
    case '\0':
      return "has died";
    default:
      return cat("is in state ", state);
  }
}

}  // namespace ronde::inline v0
