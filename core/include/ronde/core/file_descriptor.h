/// FileDescriptor and SystemError: the system's files, for the rooms' own use.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

/// Owns an open file.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  /// Closes now and returns close's result: a network file system may report a failed write only here.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

/// What the system refused to do, with its number.
class SystemError : public IoError {
 public:
  SystemError(const std::string& message, int error) : IoError(message), error_(error) {}
  /// errno.
  int error() const { return error_; }
  /// Whether it is the storage's fault, or the machine's, which may pass or be mended: no room left, a
  /// failing disk, a file system that went read-only or whose server is away, too many open files. Not: a
  /// path that names no place to write to.
  bool is_storage_failure() const {
    switch (error_) {
      case ENOSPC:
      case EDQUOT:
      case EFBIG:
      case EIO:
      case EROFS:
      case ENXIO:
      case ENODEV:
      case ESTALE:
      case ETIMEDOUT:
      case EREMOTEIO:
      case EHOSTDOWN:
      case ENOTCONN:
      case ENOLCK:
      case EMFILE:
      case ENFILE:
      case ENOMEM:
      case EAGAIN:
      case EINTR:
        return true;
      default:
        return false;
    }
  }

 private:
  int error_;
};

/// SystemError "path: what: reason of errno".
[[noreturn]] inline void throw_errno(const std::string& path, const char* what, int error = errno) {
  throw SystemError(cat(path, ": ", what, ": ", std::strerror(error)), error);
}

/// All of them, in as many writes as it takes. SystemError that names `path`.
inline void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) throw_errno(path, "writing failed", EIO);  // no progress, and no reason given
    if (written < 0) throw_errno(path, "writing failed");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace ronde::inline v0
