#include "packed/pack_header.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include <ronde/core/counted.h>
#include <ronde/core/sha256.h>
#include <ronde/core/whole_numbers.h>

#include "files/input_file.h"

namespace ronde::inline v0 {
namespace {

static_assert(std::endian::native == std::endian::little, "packed files are read as they lie on disk");

constexpr std::string_view kMagic = "\x89RONDE\r\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kHashAt = 24, kHashBytes = 64, kFieldsAt = kHashAt + kHashBytes;
constexpr std::uint64_t kPage = 4096, kLine = 64, kMaxPackHeader = 1 << 30, kMaxNames = 1 << 20;
constexpr std::int64_t kMaxSamples = std::int64_t{1} << 48, kMaxElements = std::int64_t{1} << 32;

class Writer {
 public:
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  void put(DType dtype, const Shape& shape) {
    put(to_string(dtype));
    put(static_cast<std::uint32_t>(shape.rank()));
    for (const std::int64_t extent : shape) put(extent);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

/// Takes one field after the other off the header; InputError when it is too short for one.
class Reader {
 public:
  Reader(const MappedFile& file, std::string_view bytes) : file_(file), bytes_(bytes) {}

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string take_text() { return std::string(take_bytes(take<std::uint32_t>())); }
  DType take_dtype(std::initializer_list<DType> allowed) {
    const std::string name = take_text();
    for (const DType dtype : allowed)
      if (to_string(dtype) == name) return dtype;
    file_.expect(false, "holds values of type \"", printable(name), "\", which this version does not read");
    return DType::u8;
  }
  Shape take_shape() {
    const auto rank = take<std::uint32_t>();
    file_.expect(rank <= Shape::kMaxRank, "holds samples of ", counted(rank, "dimension"),
                 ", expected at most ", Shape::kMaxRank);
    Shape shape;
    std::int64_t count = 1;
    for (std::uint32_t axis = 0; axis < rank; ++axis) {
      const auto extent = take<std::int64_t>();
      file_.expect(extent >= 1 && !__builtin_mul_overflow(count, extent, &count) && count <= kMaxElements,
                   "holds samples of impossible extents");
      shape.push_back(extent);
    }
    return shape;
  }

 private:
  std::string_view take_bytes(std::uint64_t bytes) {
    file_.expect(bytes <= bytes_.size(), "damaged: a field reaches beyond its header");
    const std::string_view taken = bytes_.substr(0, bytes);
    bytes_.remove_prefix(bytes);
    return taken;
  }

  const MappedFile& file_;
  std::string_view bytes_;
};

std::uint64_t bytes_of(const Shape& shape, DType dtype) {
  return static_cast<std::uint64_t>(shape.count()) * size_of(dtype);
}

/// All that stands between the hash and the checksums.
std::string encode_fields(const PackHeader& header) {
  Writer writer;
  writer.put(header.size);
  writer.put(header.block_size);
  writer.put(header.scale);
  writer.put(header.offset);
  writer.put(header.input_dtype, header.input_shape);
  writer.put(header.target_dtype, header.target_shape);
  writer.put(static_cast<std::uint32_t>(header.class_names.size()));
  for (const std::string& name : header.class_names) writer.put(name);
  return writer.bytes();
}

std::string seal(std::string bytes) {
  std::fill_n(bytes.begin() + kHashAt, kHashBytes, '\0');
  const std::string hash = sha256_hex(bytes);
  std::copy(hash.begin(), hash.end(), bytes.begin() + kHashAt);
  return bytes;
}

/// The header's bytes; its magic, version, length and seal are right.
std::string_view checked_header(const MappedFile& file) {
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  file.expect(all.starts_with(kMagic), "not a packed file of Ronde's");
  file.expect(all.size() >= kPage, "truncated: ends within its header");
  Reader reader(file, all.substr(kMagic.size(), kHashAt - kMagic.size()));
  const auto version = reader.take<std::uint32_t>();
  file.expect(version == kVersion, "a packed file of version ", version, ", expected ", kVersion);
  reader.take<std::uint32_t>();
  const auto bytes = reader.take<std::uint64_t>();
  file.expect(bytes >= kPage && bytes % kPage == 0 && bytes <= kMaxPackHeader, "damaged: a header of ",
              counted(bytes, "byte"));
  file.expect(bytes <= all.size(), "truncated: ends within its header");
  const std::string_view header = all.substr(0, bytes);
  file.expect(seal(std::string(header)) == header, "damaged: the SHA-256 of its header is wrong");
  return header;
}

/// All but the checksums.
PackHeader take_fields(Reader& reader, const MappedFile& file) {
  PackHeader header;
  header.size = reader.take<std::int64_t>();
  header.block_size = reader.take<std::int64_t>();
  file.expect(header.size >= 1 && header.size <= kMaxSamples && header.block_size >= 1 &&
                  header.block_size <= header.size,
              "damaged: ", counted(header.size, "sample"), " in blocks of ", header.block_size);
  header.scale = reader.take<double>();
  header.offset = reader.take<double>();
  file.expect(std::isfinite(header.scale) && std::isfinite(header.offset),
              "damaged: its scale is not finite");
  header.input_dtype = reader.take_dtype({DType::u8, DType::f32, DType::f64});
  header.input_shape = reader.take_shape();
  header.target_dtype = reader.take_dtype({DType::i32, DType::f32, DType::f64});
  header.target_shape = reader.take_shape();
  const std::uint64_t sample =
      bytes_of(header.input_shape, header.input_dtype) + bytes_of(header.target_shape, header.target_dtype);
  file.expect(static_cast<std::uint64_t>(header.block_size) <= file.size() / sample,
              "truncated: ", counted(file.size(), "byte"), " do not hold a block of ",
              counted(header.block_size, "sample"), " of ", grouped(sample));
  const auto names = reader.take<std::uint32_t>();
  file.expect(names <= kMaxNames, "damaged: ", names, " names of classes");
  for (std::uint32_t i = 0; i < names; ++i) header.class_names.push_back(reader.take_text());
  return header;
}

}  // namespace

PackLayout layout_of(const PackHeader& header) {
  const auto size = static_cast<std::uint64_t>(header.size);
  const auto per_block = static_cast<std::uint64_t>(header.block_size);
  PackLayout layout;
  layout.input = bytes_of(header.input_shape, header.input_dtype);
  layout.target = bytes_of(header.target_shape, header.target_dtype);
  layout.targets_at = round_up(per_block * layout.input, kLine);
  layout.block = layout.targets_at + round_up(per_block * layout.target, kLine);
  layout.blocks = ceil_divide(size, per_block);
  layout.header = round_up(kFieldsAt + encode_fields(header).size() + 4 * layout.blocks, kPage);
  return layout;
}

std::string encode_header(const PackHeader& header) {
  const PackLayout layout = layout_of(header);
  Writer writer;
  writer.bytes() += kMagic;
  writer.put(kVersion);
  writer.put(std::uint32_t{0});
  writer.put(layout.header);
  writer.bytes().resize(kFieldsAt);
  writer.bytes() += encode_fields(header);
  for (const std::uint32_t crc : header.crc32) writer.put(crc);
  writer.bytes().resize(layout.header);
  return seal(writer.bytes());
}

PackHeader read_header(const MappedFile& file) {
  const std::string_view bytes = checked_header(file);
  Reader reader(file, bytes.substr(kFieldsAt));
  PackHeader header = take_fields(reader, file);
  const PackLayout layout = layout_of(header);
  file.expect(layout.header == bytes.size(), "damaged: a header of ", counted(bytes.size(), "byte"),
              ", expected ", grouped(layout.header));
  file.expect(layout.blocks <= (file.size() - bytes.size()) / layout.block,
              "truncated: ", counted(file.size(), "byte"), " do not hold ", counted(layout.blocks, "block"),
              " of ", grouped(layout.block));
  const std::uint64_t expected = layout.header + layout.blocks * layout.block;
  file.expect(file.size() == expected, "holds ", counted(file.size(), "byte"), ", expected ",
              grouped(expected));
  for (std::uint64_t block = 0; block < layout.blocks; ++block)
    header.crc32.push_back(reader.take<std::uint32_t>());
  return header;
}

}  // namespace ronde::inline v0
