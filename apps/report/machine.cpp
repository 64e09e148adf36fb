#include "report/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The value of the first line "key : value" of a file as /proc/cpuinfo.
std::string value_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

double container_cores() {
  double quota = 0.0, period = 0.0;
  const std::string line = first_line("/sys/fs/cgroup/cpu.max");  // "200000 100000" or "max 100000"
  return std::sscanf(line.c_str(), "%lf %lf", &quota, &period) == 2 && period > 0.0 ? quota / period : 0.0;
}

std::string gibibytes(std::int64_t bytes) {
  return cat(std::llround(static_cast<double>(bytes) / (1 << 30)), " GB");
}

/// Words that a shell would take apart get quotes.
std::string quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:+@%-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string launcher(int world_size) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return cat("mpirun -np ", world_size, " ");
  if (std::getenv("SLURM_STEP_ID") != nullptr) return cat("srun -n ", world_size, " ");
  return world_size == 1 ? "" : cat("mpirun -np ", world_size, " ");
}

}  // namespace

Machine this_machine() {
  Machine machine;
  utsname system{};
  if (uname(&system) == 0) {
    machine.host = system.nodename;
    machine.system = cat(system.sysname, " ", system.release, " ", system.machine);
  }
  machine.processor = value_of("/proc/cpuinfo", "model name");
  machine.cores = usable_cores();
  machine.core_limit = container_cores();
  machine.memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  machine.memory_limit = std::atoll(first_line("/sys/fs/cgroup/memory.max").c_str());
  return machine;
}

std::string machine_description() {
  const Machine machine = this_machine();
  const std::string processor = machine.processor.empty() ? "" : machine.processor + ", ";
  return cat(machine.host, ": ", processor, machine.cores, machine.cores == 1 ? " core, " : " cores, ",
             gibibytes(machine.memory), ", ", machine.system);
}

std::string run_command(int world_size) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command;
  for (std::string word; std::getline(file, word, '\0');) {
    if (command.empty()) word.erase(0, word.rfind('/') + 1);  // the program, wherever it lies
    command += cat(command.empty() ? "" : " ", quoted(word));
  }
  return launcher(world_size) + command;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

}  // namespace ronde::apps
