#include <filesystem>
#include <system_error>

#include <ronde/core/new_file.h>
#include <ronde/models/file_io.h>

namespace ronde::inline v0 {

void atomic_write_file(const std::string& path, std::string_view bytes) {
  require<UsageError>(!path.empty() && path.back() != '/', "\"", path, "\" does not name a file");
  std::error_code error;
  std::filesystem::create_directories(directory_of(path), error);
  if (error) throw_errno(directory_of(path), "cannot be made", error.value());
  NewFile file(path);
  file.append(bytes);
  file.publish();
}

}  // namespace ronde::inline v0
