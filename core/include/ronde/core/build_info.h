/// What this build of core was made with, in words: `ronde info` prints it.
#pragma once

#include <string>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// "2.6.3"; empty in a build without oneDNN.
RONDE_API std::string onednn_version();
/// For which own kernels run: "avx512", "avx2" or "portable"; empty in a build without oneDNN. A UsageError as
/// make_onednn_backend's when `$RONDE_ISA` names one that this machine lacks.
RONDE_API std::string instruction_set();

}  // namespace ronde::inline v0
