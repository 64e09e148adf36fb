#include "keras_file/sealed_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include <ronde/core/file_descriptor.h>
#include <ronde/core/sha256.h>

#include "keras_file/decode.h"
#include "keras_file/hdf5.h"
#include "keras_file/trailer.h"

namespace ronde::inline v0 {

namespace {

/// 0: not a file, or one that cannot be read.
std::size_t size_of_file(int file) {
  struct stat info {};
  const bool is_file = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  return is_file ? static_cast<std::size_t>(info.st_size) : 0;
}

/// The bytes from `begin` to `end`, handed to `take` in pieces; false when they are not to be had.
template <class Take>
bool read_pieces(int file, std::size_t begin, std::size_t end, Take&& take) {
  std::vector<char> piece(std::min(end - begin, std::size_t{1} << 18));
  while (begin < end) {
    const std::size_t wanted = std::min(piece.size(), end - begin);
    const ssize_t got = ::pread(file, piece.data(), wanted, static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    take(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    begin += static_cast<std::size_t>(got);
  }
  return true;
}

bool has_right_trailer(int file) {
  const std::size_t size = size_of_file(file);
  if (size <= kShaLineLength) return false;
  std::string trailer;
  const auto append = [&](std::string_view piece) { trailer += piece; };
  if (!read_pieces(file, size - kShaLineLength, size, append) || !has_trailer(trailer)) return false;
  Sha256 hash;
  const auto update = [&](std::string_view piece) { hash.update(piece); };
  return read_pieces(file, 0, size - kShaLineLength, update) && trailer == trailer_for(hash.hex());
}

}  // namespace

std::optional<SavedModel> read_sealed_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!has_right_trailer(file.get())) return {};
  try {
    const hdf5::Session session;
    return decode_hdf5(hdf5::open_descriptor(file.get()));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace ronde::inline v0
