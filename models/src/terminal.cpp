#include <ronde/models/terminal.h>

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include <ronde/core/text.h>

namespace ronde::inline v0 {
namespace {

// Where the standard output of the process that started this one goes. Empty when that cannot be known.
std::string parents_output() {
  std::array<char, 256> target{};
  const std::string link = cat("/proc/", static_cast<long>(::getppid()), "/fd/1");
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
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

}  // namespace ronde::inline v0
