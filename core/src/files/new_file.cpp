#include <ronde/core/new_file.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace ronde::inline v0 {

namespace {

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
int create(const std::string& target, mode_t mode, std::string& path) {
  constexpr int kMostTries = 1000;
  const std::string stem = cat(target, ".tmp.", ::getpid());
  for (int i = 0; i < kMostTries; ++i) {
    path = i == 0 ? stem : cat(stem, ".", i);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) throw_errno(target, "cannot be written");
    if (hold(fd)) return fd;
    ::close(fd);
  }
  throw_errno(target, "cannot be written", EEXIST);
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

void require_replaceable(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return;
  if (S_ISLNK(info.st_mode))
    throw SystemError(cat(path, ": is a symbolic link, which is not replaced: name the file itself"), ELOOP);
  throw SystemError(cat(path, ": is no regular file, and is not replaced: name another"), EINVAL);
}

bool is_temporary_name(std::string_view name) {
  const auto mark = name.rfind(".tmp.");
  if (mark == std::string_view::npos) return false;
  const std::string_view number = name.substr(mark + 5);
  return !number.empty() && number.find_first_not_of("0123456789.") == std::string_view::npos;
}

void delete_if_abandoned(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

NewFile::NewFile(std::string path, mode_t mode)
    : path_((require_replaceable(path), delete_abandoned(path), std::move(path))),
      file_(create(path_, mode, temporary_)) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::append(std::string_view bytes) {
  write_all(file_.get(), bytes, path_);
}

void NewFile::write(std::uint64_t offset, std::string_view bytes) {
  if (::lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) < 0) throw_errno(path_, "writing failed");
  append(bytes);
}

void NewFile::clear() {
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0)
    throw_errno(path_, "cannot be written");
}

void NewFile::publish() {
  if (sync(file_.get()) != 0) throw_errno(path_, "syncing failed");
  // Interrupted or not, Linux has closed it, and the bytes are safe.
  if (file_.close() != 0 && errno != EINTR) throw_errno(path_, "closing failed");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_errno(path_, "cannot be replaced");
  temporary_.clear();
  sync_directory(directory_of(path_));
}

}  // namespace ronde::inline v0
