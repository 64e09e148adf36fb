#pragma once

#include <ronde/core/tensor.h>

#include "files/byte_reader.h"

namespace ronde::inline v0 {

/// Reads one .npy array, which must end where `reader` ends.
Tensor read_npy_array(ByteReader& reader, std::uint64_t max_bytes);

}  // namespace ronde::inline v0
