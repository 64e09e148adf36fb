/// What vouches for the bytes of a file with weights, once it has been read.
#pragma once

#include <string_view>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Whether they hold the SHA-256 of the file that Ronde writes into its .h5 and .safetensors files: who could
/// read such a file has all bytes as they were written. Another program that changes a file loses it.
RONDE_API bool is_sealed(std::string_view bytes);

}  // namespace ronde::inline v0
