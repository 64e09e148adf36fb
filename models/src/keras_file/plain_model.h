/// SavedModel <-> bytes that are read without libhdf5: a .safetensors with the arrays, by number, and all
/// else as JSON among its metadata. What the process that reads HDF5 (limited_reader.h) answers.
#pragma once

#include <string>
#include <string_view>

#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

/// Nothing is rounded. Without `layers_by_class`, which no reader fills.
std::string encode_plain_model(const SavedModel& model);
/// Trusts nothing: InputError when the bytes are not such a model's.
SavedModel decode_plain_model(std::string_view bytes);

}  // namespace ronde::inline v0
