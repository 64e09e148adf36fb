#include "rigs/checkpoints/protocols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <ronde/core/error.h>

#include "rigs/checkpoints/content.h"

namespace ronde::rigs {
namespace {

void sync_and_close(int fd, Protocol protocol) {
  if (protocol != Protocol::no_fsync) require(::fsync(fd) == 0, "fsync failed");
  ::close(fd);
}

/// Piece by piece, as a slow disk takes it.
void write(int fd, std::string_view bytes) {
  constexpr std::size_t kPieces = 4;
  constexpr useconds_t kMicrosecondsOfAPiece = 300;
  const std::size_t most = bytes.size() / kPieces + 1;
  while (!bytes.empty()) {
    const std::size_t length = std::min(most, bytes.size());
    require(::write(fd, bytes.data(), length) == static_cast<ssize_t>(length), "write failed");
    bytes.remove_prefix(length);
    ::usleep(kMicrosecondsOfAPiece);
  }
}

/// In two halves, as a larger file would be written.
void save_badly(Protocol protocol, const std::string& path, const std::string& directory,
                const std::function<void()>& acknowledge) {
  const std::string bytes = encode_saved_model(content_of(std::stoll(path.substr(path.rfind('-') + 1))));
  const std::string_view all = bytes, begin = all.substr(0, all.size() / 2), end = all.substr(begin.size());
  const std::string temporary = protocol == Protocol::in_place ? path : path + ".tmp.1";
  if (protocol == Protocol::early_ack) acknowledge();
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  require(fd >= 0, temporary, " cannot be written");
  write(fd, begin);
  if (protocol == Protocol::early_rename) ::rename(temporary.c_str(), path.c_str());
  write(fd, end);
  sync_and_close(fd, protocol);
  if (protocol != Protocol::in_place && protocol != Protocol::early_rename)
    ::rename(temporary.c_str(), path.c_str());
  if (protocol == Protocol::no_dir_fsync) return acknowledge();
  const int directory_fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  sync_and_close(directory_fd, Protocol::full);
  if (protocol != Protocol::early_ack) acknowledge();
}

}  // namespace

const char* name_of(Protocol protocol) {
  constexpr std::array names{"Ronde's",        "written in place", "renamed too early",
                             "said too early", "file not synced",  "directory not synced"};
  return names[static_cast<std::size_t>(protocol)];
}

void save(Protocol protocol, const std::string& directory, std::int64_t step,
          const std::function<void(std::int64_t)>& acknowledge) {
  const std::string path = file_of(directory, step);
  if (protocol == Protocol::full) {
    write_saved_model(path, content_of(step));
    acknowledge(step);
  } else {
    save_badly(protocol, path, directory, [&] { acknowledge(step); });
  }
  ::unlink(file_of(directory, step - 2).c_str());
}

}  // namespace ronde::rigs
