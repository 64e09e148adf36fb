#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include <ronde/models/file_io.h>

#include "files/temporary_file.h"

namespace ronde::inline v0 {

namespace {

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) throw_errno(path, "writing failed", EIO);  // no progress, and no reason given
    if (written < 0) throw_errno(path, "writing failed");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// After a failed fsync the kernel may call the lost pages clean, so a second try would prove nothing. Only
/// one that a signal kept from happening is tried again.
int sync(int fd) {
  int result = 0;
  do {
    result = ::fsync(fd);
  } while (result != 0 && errno == EINTR);
  return result;
}

/// Makes the renamed entry itself survive a power cut. Some file systems cannot sync a directory and say
/// EINVAL.
void sync_directory(const std::string& directory) {
  FileDescriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle.is_open()) throw_errno(directory, "cannot be opened");
  if (sync(handle.get()) != 0 && errno != EINVAL) throw_errno(directory, "syncing failed");
}

}  // namespace

/// Renaming would put a file in the link's place and leave what it points to as it was: nobody who makes a
/// link wants either, and a link that somebody else has made is a trap. Root would even replace /dev/null,
/// for all programs of the machine.
void require_replaceable(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return;
  if (S_ISLNK(info.st_mode))
    throw SystemError(cat(path, ": is a symbolic link, which is not replaced: name the file itself"), ELOOP);
  throw SystemError(cat(path, ": is no regular file, and is not replaced: name another"), EINVAL);
}

void atomic_write_file(const std::string& path, std::string_view bytes) {
  require<UsageError>(!path.empty() && path.back() != '/', "\"", path, "\" does not name a file");
  const std::string directory = directory_of(path);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw_errno(directory, "cannot be made", error.value());

  require_replaceable(path);
  TemporaryFile temporary(path);
  write_all(temporary.file().get(), bytes, path);
  if (sync(temporary.file().get()) != 0) throw_errno(path, "syncing failed");
  // Interrupted or not, Linux has closed it, and the bytes are safe.
  if (temporary.file().close() != 0 && errno != EINTR) throw_errno(path, "closing failed");
  if (::rename(temporary.path().c_str(), path.c_str()) != 0) throw_errno(path, "cannot be replaced");
  temporary.keep();
  sync_directory(directory);
}

}  // namespace ronde::inline v0
