#include "files/child_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>

#include <ronde/core/clock.h>
#include <ronde/core/file_descriptor.h>

#include "files/spawn.h"

namespace ronde::inline v0 {

namespace {

constexpr int kLook = 20;  // milliseconds
constexpr std::size_t kLongestLine = 300;

/// Who reads it does not wait; who writes does, as programs expect of their stderr.
struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
    if (ends[0] >= 0) ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  std::array<int, 2> ends{};
};

/// Keeps the end of what a process has written, though it may write as fast as this reads.
void drain(int fd, std::string& tail) {
  constexpr int kMostReads = 64;
  std::array<char, 4096> buffer;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return;
    tail.append(buffer.data(), static_cast<std::size_t>(got));
    if (tail.size() > 2 * kLongestLine) tail.erase(0, tail.size() - 2 * kLongestLine);
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  if (text.size() > kLongestLine) text.resize(kLongestLine);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

std::string describe(int status, const std::string& tail) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  const std::string line = last_line(tail);
  const std::string ending =
      WIFEXITED(status) ? cat("exit status ", WEXITSTATUS(status)) : cat("signal ", WTERMSIG(status));
  return line.empty() ? ending : cat(ending, ": ", line);
}

}  // namespace

std::string run_command(const std::vector<std::string>& words, double timeout,
                        const std::atomic<bool>& give_up) {
  const Pipe errors;
  const FileDescriptor read_end(errors.ends[0]);
  FileDescriptor write_end(errors.ends[1]);
  if (!read_end.is_open()) return cat(words.front(), ": cannot start: ", std::strerror(errno));
  pid_t child = -1;
  const int failed = Spawn().give(STDERR_FILENO, write_end.get()).own_group().start(words, child);
  if (failed != 0) return cat(words.front(), ": cannot start: ", std::strerror(failed));
  write_end.close();
  const double end = steady_seconds() + timeout;
  std::string tail, problem;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, WNOHANG)) == 0) {
    pollfd query{read_end.get(), POLLIN, 0};
    ::poll(&query, 1, kLook);
    drain(read_end.get(), tail);
    if (query.revents & POLLHUP) ::poll(nullptr, 0, kLook);  // it has closed its stderr, but runs
    const bool is_late = steady_seconds() > end;
    if (problem.empty() && (is_late || give_up)) {
      problem = is_late ? cat("not done after ", static_cast<std::int64_t>(timeout), " s") : "given up";
      ::kill(-child, SIGKILL);
    }
  }
  drain(read_end.get(), tail);
  // Where this process ignores SIGCHLD, or somebody else collects its children.
  if (problem.empty() && ended < 0) problem = "has ended, but its exit status went to somebody else";
  if (problem.empty()) problem = describe(status, tail);
  return problem.empty() ? "" : cat(words.front(), ": ", problem);
}

}  // namespace ronde::inline v0
