/// NewFile: a file that appears under its name whole, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ronde::inline v0 {

class NewFile {
 public:
  /// Opens a temporary file beside `path`. IoError when the directory cannot be written.
  explicit NewFile(std::string path);
  /// Removes the temporary file unless it was published.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& temporary_path() const { return temporary_; }
  /// Puts bytes at `offset`; what is skipped reads as zeros. IoError when the disk is full.
  void write(std::uint64_t offset, std::string_view bytes);
  /// Makes it empty again.
  void clear();
  /// Puts it on disk, then under its name. It survives a power cut once this has returned.
  void publish();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_;
};

}  // namespace ronde::inline v0
