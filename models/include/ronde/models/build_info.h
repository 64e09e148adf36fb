/// What this build of models was made with, in words: `ronde info` prints it.
#pragma once

#include <string>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// "1.10.8", of the library that runs.
RONDE_API std::string hdf5_version();

}  // namespace ronde::inline v0
