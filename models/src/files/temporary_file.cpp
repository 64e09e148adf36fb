#include "files/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "files/wildcard.h"

namespace ronde::inline v0 {

namespace {

void delete_if_abandoned(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

void delete_abandoned(const std::string& target) {
  const std::string prefix = std::filesystem::path(target).filename().string() + ".tmp.";
  std::error_code ignored;
  std::filesystem::directory_iterator entry(directory_of(target), ignored);
  for (const std::filesystem::directory_iterator end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && is_temporary_name(name)) delete_if_abandoned(entry->path().string());
  }
}

/// Whether the file is ours for good: another process may have taken it for abandoned before it was locked.
bool hold(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // a file system without locks
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/// Opens a file of a name that nobody uses, and sets `path` to it.
int create(const std::string& target, std::string& path) {
  constexpr int kMostTries = 1000;
  const std::string stem = cat(target, ".tmp.", ::getpid());
  for (int i = 0; i < kMostTries; ++i) {
    path = i == 0 ? stem : cat(stem, ".", i);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) throw_errno(target, "cannot be written");
    if (hold(fd)) return fd;
    ::close(fd);
  }
  throw_errno(target, "cannot be written", EEXIST);
}

}  // namespace

void delete_abandoned_files(const std::string& pattern) {
  try {
    for (const std::filesystem::path& file : expand_pattern(cat(pattern, ".tmp.", kWildcard)))
      if (is_temporary_name(file.filename().string())) delete_if_abandoned(file.string());
  } catch (const IoError&) {
    // Whoever writes there will say so.
  }
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

TemporaryFile::TemporaryFile(const std::string& target)
    : file_((delete_abandoned(target), create(target, path_))) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace ronde::inline v0
