#pragma once

#include <ronde/core/tensor.h>

#include "keras_file/hdf5.h"

namespace ronde::inline v0::hdf5 {

/// Writes values (f32 or f64, dense, in host memory) below `parent`, with a Fletcher32 checksum, or a scalar
/// (i64, too) without one; makes the groups that `path` names.
void write_dataset(hid_t parent, const std::string& path, Tensor values);

/// Reads a floating dataset as f32 (f64 stays f64). Before any memory is taken for it the stored size is
/// compared with the declared one.
Tensor read_dataset(hid_t parent, const std::string& path);

}  // namespace ronde::inline v0::hdf5
