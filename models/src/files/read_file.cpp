#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include <ronde/core/file_descriptor.h>
#include <ronde/models/file_io.h>

namespace ronde::inline v0 {

std::string read_file(const std::string& path, std::int64_t max_bytes) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // never waits for a pipe
  if (!file.is_open()) throw_errno(path, "cannot be read");
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw_errno(path, "cannot be read");
  require<IoError>(S_ISREG(info.st_mode), path, ": cannot be read: not a file");
  require<InputError>(info.st_size <= max_bytes, path, ": has ", std::int64_t{info.st_size},
                      " bytes, at most ", max_bytes, " are read");

  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(path, "reading failed");
    if (got == 0) break;  // somebody shortened it: what is there will be judged by its own checksums
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace ronde::inline v0
