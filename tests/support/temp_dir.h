/// TempDir: an empty directory that is gone with all its content when the test ends.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace ronde::test {

/// For tests that write much and need no disk: syncing a file on one takes its time.
inline std::filesystem::path memory_directory() {
  const char* path = "/dev/shm";
  return ::access(path, W_OK) == 0 ? path : std::filesystem::temp_directory_path();
}

class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string path = (parent / "ronde_test_XXXXXX").string();
    if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp failed for " + path);
    path_ = path;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  /// "path()/name"
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace ronde::test
