#include "files/npy.h"

#include <ronde/core/counted.h>
#include <ronde/data/npz.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "files/array_memory.h"

namespace ronde::inline v0 {
namespace {

constexpr std::size_t kMaxHeader = 64 << 10;

/// The header of a .npy file: a Python dictionary of exactly descr, fortran_order and shape.
class NpyHeader {
 public:
  NpyHeader(const ByteReader& reader, std::string_view text) : reader_(reader), rest_(text) {
    expect(take("{"), "expected {");
    while (!take("}")) {
      read_entry();
      expect(take(",") || peek("}"), "expected , or }");
    }
    expect(rest_.find_first_not_of(" \n") == rest_.npos, "text behind }");
    expect(has_type_ && has_order_ && has_shape_, "expected descr, fortran_order and shape");
  }

  DType dtype = DType::u8;
  Shape shape;

 private:
  void expect(bool ok, const char* problem) const { reader_.expect(ok, "unexpected .npy header: ", problem); }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool peek(std::string_view token) {
    skip_spaces();
    return rest_.starts_with(token);
  }
  bool take(std::string_view token) {
    if (!peek(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  void read_entry() {
    const std::string_view key = read_string();
    expect(take(":"), "expected :");
    if (key == "descr" && !has_type_) {
      read_type();
    } else if (key == "fortran_order" && !has_order_) {
      has_order_ = true;
      reader_.expect(!take("True"), "an array in Fortran order; save it with numpy.ascontiguousarray");
      expect(take("False"), "expected False");
    } else {
      expect(key == "shape" && !has_shape_, "a key that is unknown or comes twice");
      read_shape();
    }
  }

  std::string_view read_string() {
    expect(take("'"), "expected a string");
    const std::size_t end = rest_.find('\'');
    expect(end != rest_.npos, "a string without end");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void read_type() {
    struct Type {
      std::string_view code;
      DType dtype;
    };
    static constexpr std::array<Type, 5> kTypes{{{"|u1", DType::u8},
                                                 {"<i4", DType::i32},
                                                 {"<i8", DType::i64},
                                                 {"<f4", DType::f32},
                                                 {"<f8", DType::f64}}};
    has_type_ = true;
    const std::string_view code = peek("'") ? read_string() : "a record";
    for (const Type& type : kTypes) {
      if (type.code != code) continue;
      dtype = type.dtype;
      return;
    }
    reader_.expect(false, "elements of type ", printable(code), ", expected |u1, <i4, <i8, <f4 or <f8");
  }

  void read_shape() {
    has_shape_ = true;
    expect(take("("), "expected (");
    while (!take(")")) {
      skip_spaces();
      std::int64_t extent = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      expect(error == std::errc() && extent >= 0, "expected an extent");
      expect(shape.rank() < Shape::kMaxRank, "more than 8 dimensions");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape.push_back(extent);
      expect(take(",") || peek(")"), "expected , or )");
    }
  }

  const ByteReader& reader_;
  std::string_view rest_;
  bool has_type_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

Tensor read_npy_array(ByteReader& reader, std::uint64_t max_bytes) {
  std::array<unsigned char, 8> magic;  // \x93NUMPY, major version, minor version
  reader.read(magic.data(), magic.size());
  const bool known = std::string_view(reinterpret_cast<const char*>(magic.data()), 6) == "\x93NUMPY";
  reader.expect(known && magic[6] >= 1 && magic[6] <= 3, "not a .npy array of version 1 to 3");

  std::array<unsigned char, 4> length{};  // little-endian; two bytes in version 1
  reader.read(length.data(), magic[6] == 1 ? 2 : 4);
  const std::size_t header_bytes =
      length[0] | std::size_t{length[1]} << 8 | std::size_t{length[2]} << 16 | std::size_t{length[3]} << 24;
  reader.expect(header_bytes <= kMaxHeader, "a header of ", counted(header_bytes, "byte"));
  std::string text(header_bytes, ' ');
  reader.read(text.data(), text.size());
  const NpyHeader header(reader, text);

  const Tensor array = allocate_array(reader, header.shape, header.dtype, max_bytes);
  reader.read(array.raw(), array.byte_size());
  reader.expect_end(cat(array));
  return array;
}

Tensor read_npy(const std::string& path, std::uint64_t max_bytes) {
  const InputFile file(path);
  ByteReader reader(file);
  return read_npy_array(reader, max_bytes);
}

}  // namespace ronde::inline v0
