#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ronde/core/file_descriptor.h>

namespace ronde::inline v0 {

/// A file that grows by whole pieces: also on a full disk it never holds a part of one.
class AppendFile {
 public:
  /// `fd`: open for writing; owned from here on.
  explicit AppendFile(int fd) : file_(fd) {}
  /// Opens or makes `path`, or empties it. SystemError.
  static std::unique_ptr<AppendFile> open(const std::string& path, bool keep_content);

  /// 0, or the errno of what failed; then the file is as it was.
  int append(std::string_view bytes);

 private:
  FileDescriptor file_;
};

}  // namespace ronde::inline v0
