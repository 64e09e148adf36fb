/// Whether a person watches.
#pragma once

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Whether standard output ends in a terminal that can overwrite a line. Open MPI gives a rank a
/// pseudo-terminal of its own, wherever mpirun's output goes; then it is mpirun's that counts.
RONDE_API bool output_is_terminal();

}  // namespace ronde::inline v0
