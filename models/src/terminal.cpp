#include <ronde/models/terminal.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include <ronde/core/file_descriptor.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {
namespace {

std::string parents_link() {
  return cat("/proc/", static_cast<long>(::getppid()), "/fd/1");
}

int columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Where the standard output of the process that started this one goes. Empty when that cannot be known.
std::string parents_output() {
  std::array<char, 256> target{};
  const ssize_t length = ::readlink(parents_link().c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace

bool output_is_terminal() {
  const char* term = std::getenv("TERM");
  if (::isatty(STDOUT_FILENO) != 1 || term == nullptr || std::string_view(term) == "dumb") return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
  const std::string output = parents_output();
  return output.starts_with("/dev/pts/") || output.starts_with("/dev/tty");
}

int output_width() {
  constexpr int kUnknown = 80;
  if (const int columns = columns_of(STDOUT_FILENO); columns > 0) return columns;
  // mpirun's pseudo-terminals have no size; its own has.
  const FileDescriptor parents(::open(parents_link().c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  const int columns = parents.is_open() ? columns_of(parents.get()) : 0;
  return columns > 0 ? columns : kUnknown;
}

}  // namespace ronde::inline v0
