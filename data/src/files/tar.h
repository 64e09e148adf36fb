/// TarReader: the files in a tar archive (POSIX ustar, as GNU tar writes it too), in order, as a stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "files/byte_reader.h"

namespace ronde::inline v0 {

struct TarEntry {
  std::string name;  ///< the last part of its path
  std::uint64_t size = 0;
};

class TarReader {
 public:
  /// The reader must outlive it and be at the start of the archive.
  explicit TarReader(ByteReader& reader) : reader_(reader) {}

  /// The next regular file, what is left of the one before is skipped; nothing at the end of the archive.
  /// InputError when the archive is damaged or cut off.
  std::optional<TarEntry> next();
  /// Exactly `bytes` bytes of the present file, which must have as many left.
  void read(void* out, std::size_t bytes);

 private:
  void skip(std::uint64_t bytes);

  ByteReader& reader_;
  std::uint64_t left_ = 0;     // of the present file
  std::uint64_t padding_ = 0;  // behind it
};

}  // namespace ronde::inline v0
