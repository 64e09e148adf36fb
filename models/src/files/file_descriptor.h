#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

/// Owns an open file.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  /// Closes now and returns close's result: a network file system may report a failed write only here.
  int close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd);
  }

 private:
  int fd_;
};

/// What the system refused to do, with its number.
class SystemError : public IoError {
 public:
  SystemError(const std::string& message, int error) : IoError(message), error_(error) {}
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

}  // namespace ronde::inline v0
