#include "common/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include <ronde/core/nearest_word.h>
#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

constexpr std::string_view kPrefix = "RONDE_";

// What the library, `ronde run` and the templates in launch/ read; a test looks for others in the sources.
constexpr std::array kOthers{
    "RONDE_ALLREDUCE",
    "RONDE_BACKEND",
    "RONDE_CONV",
    "RONDE_CUDA_ENGINES",
    "RONDE_CUDA_GRAPHS",
    "RONDE_CUDA_MATH",
    "RONDE_CUDA_MODULE",
    "RONDE_DATA",
    "RONDE_FLIGHT_RECORDER",
    "RONDE_HANG_TIMEOUT_CHECKPOINT",
    "RONDE_HANG_TIMEOUT_LOADER",
    "RONDE_HANG_TIMEOUT_START",
    "RONDE_HDF5_READER",
    "RONDE_HEARTBEAT",
    "RONDE_IFACE",
    "RONDE_ISA",
    "RONDE_MPIEXEC",
    "RONDE_NCCL",
    "RONDE_NCCL_WINDOWS",
    "RONDE_RANK",
    "RONDE_RENDEZVOUS",
    "RONDE_RESTARTED",
    "RONDE_RUN_OPTIONS",
    "RONDE_TOKEN",
    "RONDE_WAITS_LATER",
    "RONDE_WORLD_SIZE",
};

}  // namespace

std::string environment_name(const std::string& option) {
  std::string name = cat(kPrefix, option);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return name;
}

std::vector<std::string> variables_set() {
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with(kPrefix)) names.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> unread_variables(const std::vector<std::string>& options) {
  std::vector<std::string> known(kOthers.begin(), kOthers.end());
  for (const std::string& option : options) known.push_back(environment_name(option));
  std::vector<std::string> lines;
  for (const std::string& name : variables_set()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = nearest_word(name, known);
    lines.push_back(cat(name, " is set, but nothing reads it",
                        nearest.empty() ? "" : cat(": did you mean ", nearest, "?")));
  }
  return lines;
}

}  // namespace ronde::apps
