/// Whether a person watches.
#pragma once

namespace ronde::apps {

/// Whether standard output ends in a terminal that can overwrite a line. Open MPI gives a rank a
/// pseudo-terminal of its own, wherever mpirun's output goes; then it is mpirun's that counts.
bool output_is_terminal();

}  // namespace ronde::apps
