#include "files/append_file.h"

#include <fcntl.h>
#include <sys/types.h>

namespace ronde::inline v0 {

std::unique_ptr<AppendFile> AppendFile::open(const std::string& path, bool keep_content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (keep_content ? 0 : O_TRUNC), 0666);
  if (fd < 0) throw_errno(path, "cannot be written");
  return std::make_unique<AppendFile>(fd);
}

int AppendFile::append(std::string_view bytes) {
  const off_t begin = ::lseek(file_.get(), 0, SEEK_END);
  try {
    write_all(file_.get(), bytes, "");
    return 0;
  } catch (const SystemError& error) {
    return ::ftruncate(file_.get(), begin) == 0 ? error.error() : errno;
  }
}

}  // namespace ronde::inline v0
