#include "keras_file/limited_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <ronde/core/file_descriptor.h>

#include "files/spawn.h"
#include "keras_file/plain_model.h"

namespace ronde::inline v0 {

namespace {

constexpr double kWallPerProcessor = 4.0;    // other processes take their share
constexpr std::size_t kLongestReason = 400;  // of a text that may be anything
constexpr std::size_t kPipe = std::size_t{1} << 20;  // bytes that wait in it, and that are read at a time

/// Other processes' file systems are not involved, so what fails here is this machine.
[[noreturn]] void throw_system(const char* what, int error = errno) {
  throw IoError(cat("cannot be read in a process of its own: ", what, ": ", std::strerror(error)));
}

/// The data as a file without a name.
FileDescriptor make_input(std::string_view image) {
  FileDescriptor file(::memfd_create("ronde-hdf5", MFD_CLOEXEC));
  if (!file.is_open()) throw_system("no memory for it");
  write_all(file.get(), image, "cannot be read in a process of its own: no memory for it");
  return file;
}

class Child {
 public:
  Child(const std::string& program, const ReaderLimits& limits, int input, int output) {
    const auto seconds = std::max<std::int64_t>(1, std::int64_t(limits.seconds));
    // What dying libraries have to say is told in our own words.
    const int error = Spawn()
                          .give(STDIN_FILENO, input)
                          .give(STDOUT_FILENO, output)
                          .start({program, std::to_string(limits.memory), std::to_string(seconds)}, process_);
    if (error != 0) throw_system(program.c_str(), error);
  }
  ~Child() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Its status, as waitpid has it; 0 where somebody else has collected it.
  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0)
      if (errno != EINTR) break;
    process_ = -1;
    return status;
  }

 private:
  pid_t process_ = -1;
};

std::string describe_megabytes(std::int64_t bytes) {
  return cat(bytes >> 20, " MB");
}

/// All that comes until the other side closes, about as much as `expected`. InputError when that takes too
/// long or is too much.
std::string read_answer(int pipe, const ReaderLimits& limits, std::size_t expected) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(kWallPerProcessor * limits.seconds);
  std::string answer;
  answer.reserve(expected);
  std::string piece(kPipe, '\0');
  for (;;) {
    const double left = std::chrono::duration<double>(until - Clock::now()).count();
    require<InputError>(left > 0.0, "reading it took more than ", kWallPerProcessor * limits.seconds, " s");
    pollfd wanted{pipe, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(left * 1e3) + 1) <= 0) continue;
    const ssize_t got = ::read(pipe, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system("reading the answer");
    if (got == 0) return answer;
    answer.append(piece, 0, static_cast<std::size_t>(got));
    require<InputError>(std::ssize(answer) <= limits.memory, "reading it takes more than ",
                        describe_megabytes(limits.memory));
  }
}

/// One line of printable characters.
std::string tidy(std::string_view text) {
  std::string line(text.substr(0, kLongestReason));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return line;
}

[[noreturn]] void throw_death(const std::string& program, int status, const ReaderLimits& limits) {
  if (WIFEXITED(status))
    throw IoError(cat("cannot be read: ", program, " ended with status ", WEXITSTATUS(status),
                      " and no answer (does it run when started by hand?)"));
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU)
    throw InputError(
        cat("damaged or hostile: reading it took more than ", limits.seconds, " s of a processor"));
  throw InputError(cat("damaged or hostile: libhdf5 crashed over it, in a process of its own (signal ",
                       signal, ", ", ::strsignal(signal), ")"));
}

}  // namespace

ReaderLimits reader_limits(std::size_t file_bytes) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 30, kTimes = 8;
  constexpr double kLeastSeconds = 5.0, kBytesPerSecond = 20e6;
  const auto bytes = static_cast<std::int64_t>(file_bytes);
  return {kLeast + kTimes * bytes, kLeastSeconds + static_cast<double>(bytes) / kBytesPerSecond};
}

SavedModel decode_in_child(std::string image) {
  const ReaderLimits limits = reader_limits(image.size());
  return decode_in_child(std::move(image), find_hdf5_reader(), limits);
}

SavedModel decode_in_child(std::string image, const std::string& program, const ReaderLimits& limits) {
  const std::size_t expected = image.size();
  const FileDescriptor input = make_input(std::exchange(image, {}));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_system("no pipe");
  const FileDescriptor from_child(ends[0]);
  ::fcntl(from_child.get(), F_SETPIPE_SZ, static_cast<int>(kPipe));  // or what the system lets it have
  FileDescriptor to_parent(ends[1]);
  Child child(program, limits, input.get(), to_parent.get());
  to_parent.close();  // so that the child's end is the last
  const std::string answer = read_answer(from_child.get(), limits, expected);
  const int status = child.wait();
  if (answer.empty() || status != 0) throw_death(program, status, limits);
  const std::string_view content = std::string_view(answer).substr(1);
  require<InputError>(answer.front() != kAnswerRefused, tidy(content));
  require<InputError>(answer.front() == kAnswerModel, "damaged or hostile: what reads it answers nonsense");
  try {
    return decode_plain_model(content);
  } catch (const InputError& error) {
    throw InputError(cat("damaged or hostile: what reads it answers nonsense: ", tidy(error.what())));
  }
}

}  // namespace ronde::inline v0
