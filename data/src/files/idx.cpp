#include <ronde/data/idx.h>

#include <algorithm>
#include <array>
#include <span>

#include <ronde/core/backend.h>

#include "files/array_memory.h"
#include "files/byte_reader.h"

namespace ronde::inline v0 {
namespace {

DType element_type(const ByteReader& reader, unsigned char code) {
  switch (code) {
    case 0x08:
      return DType::u8;
    case 0x0c:
      return DType::i32;
    case 0x0d:
      return DType::f32;
    case 0x0e:
      return DType::f64;
  }
  reader.expect(false, "IDX element type ", int{code}, ", expected 8 (u8), 12 (i32), 13 (f32) or 14 (f64)");
  return DType::u8;
}

Shape read_extents(ByteReader& reader, int rank) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<unsigned char, 4> b;
    reader.read(b.data(), b.size());
    shape.push_back(std::int64_t{b[0]} << 24 | std::int64_t{b[1]} << 16 | std::int64_t{b[2]} << 8 | b[3]);
  }
  return shape;
}

void reverse_bytes(std::span<char> bytes, std::size_t element) {
  for (std::size_t i = 0; i < bytes.size(); i += element) {
    const auto one = bytes.subspan(i, element);
    std::reverse(one.begin(), one.end());
  }
}

}  // namespace

Tensor read_idx(const std::string& path, std::uint64_t max_bytes) {
  const InputFile file(path);
  ByteReader reader(file);
  std::array<unsigned char, 4> magic;
  reader.read(magic.data(), magic.size());
  reader.expect(magic[0] == 0 && magic[1] == 0, "not an IDX file: starts with ", int{magic[0]}, " ",
                int{magic[1]}, ", expected 0 0");
  const DType dtype = element_type(reader, magic[2]);
  reader.expect(magic[3] >= 1 && magic[3] <= Shape::kMaxRank, "IDX array of ", int{magic[3]},
                " dimensions, expected 1 to ", Shape::kMaxRank);
  const Shape shape = read_extents(reader, magic[3]);

  const Tensor array = allocate_array(reader, shape, dtype, max_bytes);
  reader.read(array.raw(), array.byte_size());
  reader.expect_end(cat(array));
  if (size_of(dtype) > 1) reverse_bytes({static_cast<char*>(array.raw()), array.byte_size()}, size_of(dtype));
  return array;
}

}  // namespace ronde::inline v0
