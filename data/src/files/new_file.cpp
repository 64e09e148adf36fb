#include "files/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "files/input_file.h"

namespace ronde::inline v0 {
namespace {

void sync_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool ok = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!ok) fail_system(directory, error, "fsync failed: ");
}

}  // namespace

NewFile::NewFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode))  // root would replace even /dev/null
    fail_system(path_, S_ISDIR(info.st_mode) ? EISDIR : EEXIST, "cannot be written: ");
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail_system(path_, errno, "cannot be written: ");
  ::fchmod(descriptor_, 0644);
}

NewFile::~NewFile() {
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::write(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_system(path_, errno, "writing failed: ");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void NewFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0)
    fail_system(temporary_, errno);
}

void NewFile::publish() {
  if (::fsync(descriptor_) != 0) fail_system(temporary_, errno, "fsync failed: ");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_system(path_, errno, "cannot be written: ");
  temporary_.clear();
  const std::string directory = std::filesystem::path(path_).parent_path();
  sync_directory(directory.empty() ? "." : directory);
}

}  // namespace ronde::inline v0
