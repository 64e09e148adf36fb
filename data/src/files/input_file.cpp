#include "files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace ronde::inline v0 {

void fail_system(const std::string& path, int error, const char* doing) {
  throw IoError(cat("data: ", path, ": ", doing, std::generic_category().message(error)));
}

namespace {

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

}  // namespace

bool has_control_characters(std::string_view name) {
  return std::any_of(name.begin(), name.end(), is_control);
}

std::string printable(std::string_view name) {
  std::string text(name.substr(0, 64));
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_system(path_, errno);
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw InputError(cat("data: ", path_, ": not a regular file"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::InputFile(std::string path, std::string_view bytes)
    : path_(std::move(path)), bytes_(bytes.data()), size_(bytes.size()) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::uint64_t offset, void* out, std::size_t bytes) const {
  auto* to = static_cast<char*>(out);
  if (descriptor_ < 0) {
    std::copy_n(bytes_ + offset, bytes, to);
    return;
  }
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system(path_, errno, "reading failed: ");
    expect(got > 0, "became shorter while it was read");
    to += got;
    bytes -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace ronde::inline v0
