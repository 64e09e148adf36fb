/// What this build of core was made with, in words: `ronde info` prints it.
#pragma once

#include <string>

#include <ronde/core/dtype.h>
#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Ronde's: "0.1.0".
RONDE_API std::string library_version();
/// "2.6.3"; empty in a build without oneDNN.
RONDE_API std::string onednn_version();
/// For which own kernels run: "amx", "avx512_bf16", "avx512", "avx2" or "portable"; empty in a build without
/// oneDNN. An error as make_onednn_backend's when `$RONDE_ISA` names one that this machine lacks.
/// Sets that differ in bf16 alone round alike what is `computed` in another type, and go by the least one's
/// name then.
RONDE_API std::string instruction_set(DType computed = DType::bf16);
/// What 3x3 convolutions run by where they can: "winograd", or "direct" when `$RONDE_CONV` says so; empty in
/// a build without oneDNN. Decides how sums are rounded. A UsageError when `$RONDE_CONV` is something else.
RONDE_API std::string convolution_algorithm();

}  // namespace ronde::inline v0
