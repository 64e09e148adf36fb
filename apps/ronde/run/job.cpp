#include "ronde/run/job.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ronde/core/error.h>

namespace ronde::apps {
namespace {

constexpr double kKillPatience = 5.0;  // seconds until a killed process is gone
constexpr int kUnknownStatus = 1;      // of a process whose end somebody else was told

int shell_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In the child, between fork and exec.
[[noreturn]] void become(pid_t parent, char* const* arguments, char* const* environment) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it has died meanwhile
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGXFSZ, SIG_DFL);  // what `ronde` ignores is no affair of the program
  // A job in the background must not be stopped because it could read from the terminal.
  const int nowhere = open("/dev/null", O_RDONLY);
  dup2(nowhere, 0);
  execvpe(arguments[0], arguments, environment);
  _exit(127);
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(cat(name, '=', value));
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// This process has one thread.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  FILE* file = std::fopen(cat("/proc/self/task/", getpid(), "/children").c_str(), "re");
  if (!file) return found;
  for (int child = 0; std::fscanf(file, "%d", &child) == 1;) found.push_back(child);
  std::fclose(file);
  return found;
}

// Of /proc/PROCESS/status; 0: there is no such process.
unsigned long long status_field(pid_t process, const std::string& name, int base) {
  unsigned long long value = 0;
  FILE* file = std::fopen(cat("/proc/", process, "/status").c_str(), "re");
  if (!file) return value;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), file))
    if (std::strncmp(line.data(), name.c_str(), name.size()) == 0)
      value = std::strtoull(line.data() + name.size(), nullptr, base);
  std::fclose(file);
  return value;
}

}  // namespace

Job::Job(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words = command;
  std::vector<std::string> variables = merged_environment(environment);
  const std::vector<char*> arguments = pointers_to(words), settings = pointers_to(variables);
  const pid_t parent = getpid();
  std::fflush(nullptr);
  process_ = fork();
  if (process_ == 0) become(parent, arguments.data(), settings.data());
  require<IoError>(process_ > 0, "cannot start ", command.front(), ": ", std::strerror(errno));
  setpgid(process_, process_);
}

Job::~Job() {
  if (status_ < 0) end();
}

bool Job::has_ended() {
  if (status_ >= 0) return true;
  int status = 0;
  const pid_t ended = waitpid(process_, &status, WNOHANG);
  if (ended == process_) status_ = shell_status(status);
  if (ended < 0) status_ = kUnknownStatus;
  return ended != 0;
}

void Job::signal(int number) const {
  if (status_ < 0) kill(process_, number);
}

// A process that has ended, but not for its parent yet, has no words any more.
std::vector<std::string> Job::commands() const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator thread(cat("/proc/", process_, "/task"), error);
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error)) {
    std::ifstream numbers(thread->path() / "children");
    for (pid_t child = 0; numbers >> child;) {
      std::ifstream words(cat("/proc/", child, "/cmdline"), std::ios::binary);
      std::string command{std::istreambuf_iterator<char>(words), {}};
      std::replace(command.begin(), command.end(), '\0', ' ');
      if (!command.empty()) found.push_back(std::move(command));
    }
  }
  return found;
}

// See Note [No orphans].
void Job::end(pid_t other) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kKillPatience);
  if (!has_ended()) kill(-process_, SIGKILL);
  for (;;) {
    std::vector<pid_t> left = children();
    std::erase(left, other);
    if (left.empty() || std::chrono::steady_clock::now() > until) return;
    for (const pid_t child : left) {
      kill(child, SIGKILL);
      if (child != process_) waitpid(child, nullptr, WNOHANG);
    }
    has_ended();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string launcher_program() {
  const char* chosen = std::getenv("RONDE_MPIEXEC");
  return chosen && *chosen ? chosen : "mpirun";
}

bool launcher_is_hydra() {
  FILE* pipe = popen("\"${RONDE_MPIEXEC:-mpirun}\" --version 2>/dev/null </dev/null", "r");
  if (!pipe) return false;
  std::string version(4096, '\0');
  version.resize(std::fread(version.data(), 1, version.size(), pipe));
  pclose(pipe);
  return version.find("HYDRA") != std::string::npos;
}

void become_subreaper() {
  prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
}

void collect_orphans(pid_t running, pid_t spare) {
  for (const pid_t child : children())
    if (child != running && child != spare) waitpid(child, nullptr, WNOHANG);
}

bool descends_from(pid_t process, pid_t ancestor) {
  while (process > 1 && process != ancestor) process = static_cast<pid_t>(status_field(process, "PPid:", 10));
  return process == ancestor;
}

bool catches_signal(pid_t process, int number) {
  return (status_field(process, "SigCgt:", 16) >> (number - 1)) & 1;
}

}  // namespace ronde::apps
