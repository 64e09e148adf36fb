/// Model files of Ronde's own, read without having all their bytes in memory.
#pragma once

#include <optional>
#include <string>

#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

/// What an HDF5 file holds whose SHA-256 is right. Nothing for any other file, or where anything is wrong:
/// whoever looks at its bytes then can say what.
std::optional<SavedModel> read_sealed_file(const std::string& path);

}  // namespace ronde::inline v0
