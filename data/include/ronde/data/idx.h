/// IDX: the format of MNIST's files. One dense array; big-endian; plain or compressed with gzip.
///
///     Tensor images = read_idx("train-images-idx3-ubyte.gz");    // u8 (60000, 28, 28)
///
/// Layout: 0, 0, element type, number of dimensions, each extent as u32, the elements. The file must hold
/// exactly what its header says: nothing missing, nothing behind it.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// Elements may be u8, i32, f32 or f64. Errors: IoError when the file is missing or cannot be read,
/// InputError when it is damaged or its elements take more than `max_bytes`. No memory is taken for what the
/// file cannot hold.
RONDE_API Tensor read_idx(const std::string& path, std::uint64_t max_bytes = std::uint64_t{4} << 30);

}  // namespace ronde::inline v0
