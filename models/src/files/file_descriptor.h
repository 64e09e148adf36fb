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

/// IoError "path: what: reason of errno".
[[noreturn]] inline void throw_errno(const std::string& path, const char* what, int error = errno) {
  throw IoError(cat(path, ": ", what, ": ", std::strerror(error)));
}

}  // namespace ronde::inline v0
