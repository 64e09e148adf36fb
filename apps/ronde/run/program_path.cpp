#include "ronde/run/program_path.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string own_directory() {
  std::array<char, PATH_MAX> own{};
  const ssize_t length = ::readlink("/proc/self/exe", own.data(), own.size() - 1);
  const std::string path(own.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return path.substr(0, path.rfind('/') + 1);
}

bool is_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path ? path : "/bin:/usr/bin");  // as exec has it
  for (std::string directory; std::getline(directories, directory, ':');)
    if (is_program(cat(directory.empty() ? "." : directory, "/", name))) return true;
  return false;
}

}  // namespace

// Traced, a process stops before the first instruction of what it has become; there it is killed.
std::string obstacle_to_running(const std::string& path) {
  if (path.find('/') == std::string::npos) return "";
  const pid_t child = fork();
  if (child == 0) {
    char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(0);
    execv(path.c_str(), arguments);
    _exit(errno);
  }
  int status = 0;
  const bool is_told = child > 0 && waitpid(child, &status, 0) == child;
  if (!is_told || WIFSIGNALED(status)) return "";
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? "" : std::strerror(WEXITSTATUS(status));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return "";
}

bool can_run(const std::string& name) {
  return name.find('/') == std::string::npos ? is_in_path(name) : is_program(name);
}

std::string path_of_program(const std::string& name) {
  const std::string beside = own_directory() + name;
  if (name.find('/') == std::string::npos && is_program(beside)) return beside;
  return can_run(name) ? name : "";
}

}  // namespace ronde::apps
