/// ByteReader: the bytes of a file, or of a part of it, in order and decompressed on the way.
///
/// It trusts nothing: compressed data must end where the section ends, its checksums must hold, and it never
/// gives out more than it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "files/input_file.h"

namespace ronde::inline v0 {

enum class Coding {
  plain,
  gzip,    ///< one member or more; the CRC-32 and length of each are checked
  deflate  ///< without a frame, as in zip archives
};

/// A part of a file, and what is known of it from elsewhere.
struct Section {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< in the file
  Coding coding = Coding::plain;
  std::optional<std::uint64_t> size = {};   ///< decompressed
  std::optional<std::uint32_t> crc32 = {};  ///< of the decompressed bytes
  std::string label = {};                   ///< put before each complaint: "x_train.npy: "
};

class ByteReader {
 public:
  /// The whole file; gzip is recognised by its first bytes.
  explicit ByteReader(const InputFile& file);
  ByteReader(const InputFile& file, const Section& section);
  ~ByteReader();

  /// Throws an InputError about this part of the file unless `ok`.
  template <class... Pieces>
  void expect(bool ok, const Pieces&... pieces) const {
    file_.expect(ok, section_.label, pieces...);
  }
  /// Up to `bytes` bytes. 0: the end, and all checks held.
  std::size_t read_some(void* out, std::size_t bytes);
  /// Exactly `bytes` bytes; InputError when there are less.
  void read(void* out, std::size_t bytes);
  /// InputError unless exactly `bytes` bytes are left, where that can be told before they are decompressed;
  /// otherwise unless there may be as many. So it is safe to allocate them. `what` says where the number is
  /// from.
  void expect_left(std::uint64_t bytes, const std::string& what) const;
  /// InputError unless all has been read.
  void expect_end(const std::string& what);

 private:
  struct Inflater;
  std::size_t read_plain(void* out, std::size_t bytes);
  std::size_t inflate_some(void* out, std::size_t bytes);
  void fill();
  bool begin_member();
  void finish();

  const InputFile& file_;
  Section section_;
  std::uint64_t taken_ = 0;     // of the section
  std::uint64_t produced_ = 0;  // decompressed
  std::uint32_t crc_ = 0;
  bool finished_ = false;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace ronde::inline v0
