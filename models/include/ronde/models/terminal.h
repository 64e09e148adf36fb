/// Whether a person watches, and through how wide a window.
#pragma once

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Whether standard output ends in a terminal that can overwrite a line. Open MPI gives a rank a
/// pseudo-terminal of its own, wherever mpirun's output goes; then it is mpirun's that counts.
RONDE_API bool output_is_terminal();

/// Columns of the terminal that standard output ends in; 80 when that cannot be known.
RONDE_API int output_width();

}  // namespace ronde::inline v0
