/// Memory for an array that a file claims to hold.
#pragma once

#include <ronde/core/tensor.h>

#include "files/byte_reader.h"

namespace ronde::inline v0 {

/// Host memory for `shape` elements, all that `reader` may still give. InputError when their number
/// overflows, when they take more than `max_bytes`, or when the file cannot hold them.
Tensor allocate_array(const ByteReader& reader, const Shape& shape, DType dtype, std::uint64_t max_bytes);

}  // namespace ronde::inline v0
