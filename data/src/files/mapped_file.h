/// MappedFile: the bytes of a regular file as memory that is read from disk when it is touched.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/error.h>
#include <ronde/core/file_descriptor.h>

namespace ronde::inline v0 {

/// Reading behind the end of a file that was cut off since ends the process (SIGBUS): `expect_whole` before,
/// which leaves a moment for it. Replacing the file by rename is fine.
class MappedFile {
 public:
  /// IoError when it cannot be opened, InputError when it is no regular file.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const unsigned char* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  /// InputError when the file has become shorter.
  void expect_whole() const;
  /// Throws an InputError about this file unless `ok`.
  template <class... Pieces>
  void expect(bool ok, const Pieces&... pieces) const {
    if (!ok) [[unlikely]]
      throw InputError(cat("data: ", path_, ": ", pieces...));
  }

 private:
  std::string path_;
  FileDescriptor descriptor_;
  const unsigned char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace ronde::inline v0
