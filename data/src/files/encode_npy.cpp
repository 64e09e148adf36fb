#include <bit>

#include <ronde/data/npz.h>
#include <ronde/data/zip.h>

namespace ronde::inline v0 {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

const char* type_code(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::u8:
      return "|u1";
    case DType::i32:
      return "<i4";
    case DType::i64:
      break;
  }
  return "<i8";
}

/// A Python dictionary in 64-byte units, so that the elements behind it are aligned.
std::string header_of(const Tensor& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape()) shape += cat(shape.empty() ? "" : ", ", extent);
  if (array.rank() == 1) shape += ",";  // (3, 4), but (3,)
  std::string text =
      cat("{'descr': '", type_code(array.dtype()), "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr std::size_t kUnit = 64, kPrefix = 10;
  text.append(kUnit - 1 - (kPrefix + text.size()) % kUnit, ' ');
  return text + '\n';
}

}  // namespace

std::string encode_npy(const Tensor& array) {
  const std::string header = header_of(array);
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const Tensor dense = (array.dtype() == DType::bf16 ? array.to(DType::f32) : array).contiguous();
  bytes.append(static_cast<const char*>(dense.raw()), dense.byte_size());
  return bytes;
}

std::string encode_npz(const std::map<std::string, Tensor>& arrays) {
  std::vector<ZipEntry> entries;
  for (const auto& [name, array] : arrays) entries.push_back({name + ".npy", encode_npy(array)});
  return encode_zip(entries);
}

}  // namespace ronde::inline v0
