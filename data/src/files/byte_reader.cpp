#include "files/byte_reader.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include <ronde/core/counted.h>

namespace ronde::inline v0 {
namespace {

constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr std::size_t kPiece = 256 << 10;  // decompressed at once: stays in cache for the checksum
constexpr std::array<unsigned char, 2> kGzip{0x1f, 0x8b};
constexpr std::uint64_t kMaxRatio = 1032;  // of deflate: 258 bytes from 2 bits

Section whole(const InputFile& file) {
  std::array<unsigned char, 2> magic{};
  if (file.size() >= magic.size()) file.read(0, magic.data(), magic.size());
  const bool gzip = magic == kGzip;
  Section section{.length = file.size(), .coding = gzip ? Coding::gzip : Coding::plain};
  if (!gzip) section.size = file.size();
  return section;
}

}  // namespace

struct ByteReader::Inflater {
  explicit Inflater(Coding coding) {
    const int window_bits = coding == Coding::gzip ? MAX_WBITS + 16 : -MAX_WBITS;
    if (inflateInit2(&stream, window_bits) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  std::array<unsigned char, kReadAtOnce> buffer;
};

ByteReader::ByteReader(const InputFile& file) : ByteReader(file, whole(file)) {}

ByteReader::ByteReader(const InputFile& file, const Section& section) : file_(file), section_(section) {
  if (section.coding != Coding::plain) inflater_ = std::make_unique<Inflater>(section.coding);
}

ByteReader::~ByteReader() = default;

std::size_t ByteReader::read_plain(void* out, std::size_t bytes) {
  const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, section_.length - taken_));
  file_.read(section_.offset + taken_, out, now);
  taken_ += now;
  if (taken_ == section_.length) finished_ = true;
  return now;
}

/// Compressed bytes for the inflater, if it has none and the section has.
void ByteReader::fill() {
  z_stream& stream = inflater_->stream;
  if (stream.avail_in > 0 || taken_ == section_.length) return;
  const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(kReadAtOnce, section_.length - taken_));
  file_.read(section_.offset + taken_, inflater_->buffer.data(), now);
  taken_ += now;
  stream.next_in = inflater_->buffer.data();
  stream.avail_in = static_cast<uInt>(now);
}

/// A gzip file may be several, one after the other (RFC 1952, 2.2): true when another one begins here.
bool ByteReader::begin_member() {
  if (section_.coding != Coding::gzip) return false;
  fill();
  z_stream& stream = inflater_->stream;
  if (stream.avail_in == 0 || *stream.next_in != kGzip[0]) return false;
  return inflateReset(&stream) == Z_OK;
}

std::size_t ByteReader::inflate_some(void* out, std::size_t bytes) {
  z_stream& stream = inflater_->stream;
  stream.next_out = static_cast<unsigned char*>(out);
  stream.avail_out = static_cast<uInt>(bytes);
  while (stream.avail_out == bytes && !finished_) {
    fill();
    const int status = inflate(&stream, Z_NO_FLUSH);
    expect(status != Z_BUF_ERROR, "truncated: the compressed data ends after ", counted(produced_, "byte"),
           " of content");
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    expect(status == Z_OK || status == Z_STREAM_END, "damaged compressed data", stream.msg ? ": " : "",
           stream.msg ? stream.msg : "");
    finished_ = status == Z_STREAM_END && !begin_member();
  }
  return bytes - stream.avail_out;
}

std::size_t ByteReader::read_some(void* out, std::size_t bytes) {
  if (finished_ || bytes == 0) return 0;
  const std::size_t piece = std::min(bytes, kPiece);
  const std::size_t got = inflater_ ? inflate_some(out, piece) : read_plain(out, piece);
  produced_ += got;
  expect(!section_.size || produced_ <= *section_.size, "holds more content than the ",
         counted(section_.size.value_or(0), "byte"), " expected");
  if (section_.crc32)
    crc_ = static_cast<std::uint32_t>(::crc32(crc_, static_cast<const Bytef*>(out), static_cast<uInt>(got)));
  if (finished_) finish();
  return got;
}

void ByteReader::finish() {
  const std::uint64_t behind = section_.length - taken_ + (inflater_ ? inflater_->stream.avail_in : 0);
  expect(behind == 0, counted(behind, "byte"), " behind the end of the compressed data");
  if (section_.size)
    expect(produced_ == *section_.size, "holds ", counted(produced_, "byte"), " of content, expected ",
           grouped(*section_.size));
  expect(!section_.crc32 || crc_ == *section_.crc32, "damaged: its CRC-32 is wrong");
}

void ByteReader::read(void* out, std::size_t bytes) {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const std::size_t got = read_some(to, bytes);
    expect(got > 0, "truncated: ends after ", counted(produced_, "byte"), " of content");
    to += got;
    bytes -= got;
  }
}

void ByteReader::expect_left(std::uint64_t bytes, const std::string& what) const {
  if (section_.size)
    expect(bytes == *section_.size - produced_, "holds ", counted(*section_.size - produced_, "byte"),
           " of elements, expected ", grouped(bytes), " for ", what);
  expect(bytes / kMaxRatio <= section_.length, "too small to hold the ", counted(bytes, "byte"), " of ",
         what);
}

void ByteReader::expect_end(const std::string& what) {
  const std::uint64_t before = produced_;
  char extra;
  expect(read_some(&extra, 1) == 0, "holds more than the ", counted(before, "byte"), " of ", what);
}

}  // namespace ronde::inline v0
