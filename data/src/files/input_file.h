/// InputFile: a regular file, or bytes in memory, read by position. Everything that can be wrong with it
/// becomes one line: "data: PATH: what is wrong".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ronde/core/error.h>

namespace ronde::inline v0 {

class InputFile {
 public:
  /// IoError, with the system's reason, when it cannot be opened.
  explicit InputFile(std::string path);
  /// `bytes`, which must outlive this object, as if they were the file `path`.
  InputFile(std::string path, std::string_view bytes);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Exactly `bytes` bytes from `offset`, which must lie within size().
  void read(std::uint64_t offset, void* out, std::size_t bytes) const;

  /// Throws an InputError about this file unless `ok`.
  template <class... Pieces>
  void expect(bool ok, const Pieces&... pieces) const {
    if (!ok) [[unlikely]]
      throw InputError(cat("data: ", path_, ": ", pieces...));
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  const char* bytes_ = nullptr;  // of a file in memory
  std::uint64_t size_ = 0;
};

/// IoError "data: PATH: No such file or directory" for the value of errno.
[[noreturn]] void fail_system(const std::string& path, int error, const char* doing = "");

/// Whether a name holds a control character, which no member of an archive may have.
bool has_control_characters(std::string_view name);

/// A name out of a file, fit for a message: cut after 64 bytes, control characters as "?".
std::string printable(std::string_view name);

}  // namespace ronde::inline v0
