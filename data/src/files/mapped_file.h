/// MappedFile: the bytes of a regular file as memory that is read from disk when it is touched.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

/// Who cuts the file off while it is mapped ends the process (SIGBUS); replacing it by rename is fine.
class MappedFile {
 public:
  /// IoError when it cannot be opened, InputError when it is no regular file.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const unsigned char* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  /// Throws an InputError about this file unless `ok`.
  template <class... Pieces>
  void expect(bool ok, const Pieces&... pieces) const {
    if (!ok) [[unlikely]]
      throw InputError(cat("data: ", path_, ": ", pieces...));
  }

 private:
  std::string path_;
  const unsigned char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace ronde::inline v0
