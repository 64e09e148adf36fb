#include "files/array_memory.h"

#include <algorithm>

#include <ronde/core/counted.h>

namespace ronde::inline v0 {

Tensor allocate_array(const ByteReader& reader, const Shape& shape, DType dtype, std::uint64_t max_bytes) {
  const std::string what = cat(dtype, " ", shape);
  std::uint64_t bytes = size_of(dtype);
  bool overflow = false;
  bool is_empty = false;
  for (const std::int64_t extent : shape) {
    is_empty |= extent == 0;  // which does not make the others possible
    overflow |= __builtin_mul_overflow(bytes, std::max<std::uint64_t>(extent, 1), &bytes);
  }
  reader.expect(!overflow && bytes <= max_bytes, what, " is larger than the ", grouped(max_bytes),
                " bytes allowed");
  reader.expect_left(is_empty ? 0 : bytes, what);
  return Tensor::empty(shape, {.dtype = dtype});
}

}  // namespace ronde::inline v0
