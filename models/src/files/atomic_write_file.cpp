#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include <ronde/models/file_io.h>

#include "files/file_descriptor.h"

namespace ronde::inline v0 {

namespace {

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A file that is deleted unless it was kept.
class TemporaryFile {
 public:
  /// Made new next to `target`, with the permissions that a plain creation would give.
  explicit TemporaryFile(const std::string& target) : path_(unused_name(target)), file_(create(path_)) {
    if (!file_.is_open()) {
      const int error = errno;
      path_.clear();
      throw_errno(target, "cannot be written", error);
    }
  }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  FileDescriptor& file() { return file_; }
  void keep() { path_.clear(); }

 private:
  /// Another process may have died with this process number and left its file: try the next name.
  static std::string unused_name(const std::string& target) {
    const std::string stem = cat(target, ".tmp.", ::getpid());
    std::string name = stem;
    struct stat info {};
    for (int i = 1; ::lstat(name.c_str(), &info) == 0; ++i) name = cat(stem, ".", i);
    return name;
  }
  static int create(const std::string& path) {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  }

  std::string path_;
  FileDescriptor file_;
};

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno(path, "writing failed");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Makes the renamed entry itself survive a power cut. Some file systems cannot sync a directory and say
/// EINVAL.
void sync_directory(const std::string& directory) {
  FileDescriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle.is_open()) throw_errno(directory, "cannot be opened");
  if (::fsync(handle.get()) != 0 && errno != EINVAL) throw_errno(directory, "syncing failed");
}

}  // namespace

void atomic_write_file(const std::string& path, std::string_view bytes) {
  require<UsageError>(!path.empty() && path.back() != '/', "\"", path, "\" does not name a file");
  const std::string directory = directory_of(path);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw IoError(cat(directory, ": cannot be made: ", error.message()));

  TemporaryFile temporary(path);
  write_all(temporary.file().get(), bytes, path);
  // After a failed fsync the kernel may call the lost pages clean, so a second try proves nothing: give up.
  if (::fsync(temporary.file().get()) != 0) throw_errno(path, "syncing failed");
  if (temporary.file().close() != 0) throw_errno(path, "closing failed");
  if (::rename(temporary.path().c_str(), path.c_str()) != 0) throw_errno(path, "cannot be replaced");
  temporary.keep();
  sync_directory(directory);
}

}  // namespace ronde::inline v0
