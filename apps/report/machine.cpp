#include "report/machine.h"

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include <ronde/core/counted.h>
#include <ronde/core/machine.h>
#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

std::string gibibytes(std::int64_t bytes) {
  return cat(std::llround(static_cast<double>(bytes) / (1 << 30)), " GB");
}

/// Words that a shell would take apart get quotes.
std::string in_quotes(const std::string& word) {
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

std::string machine_description() {
  const Machine machine = this_machine();
  const std::string processor = machine.processor.empty() ? "" : machine.processor + ", ";
  return cat(machine.host, ": ", processor, counted(::sysconf(_SC_NPROCESSORS_ONLN), "core"), ", ",
             gibibytes(machine.memory), ", ", machine.system);
}

std::string run_command(int world_size) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command;
  for (std::string word; std::getline(file, word, '\0');) {
    if (command.empty()) word.erase(0, word.rfind('/') + 1);  // the program, wherever it lies
    command += cat(command.empty() ? "" : " ", in_quotes(word));
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
