/// How this process wants floats to be multiplied on a GPU.
#pragma once

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

/// `$RONDE_CUDA_MATH`: "f32" (default) or "tf32"; `$RONDE_CUDA_ENGINES`: "fastest", "tuned" (default) or
/// "deterministic". A UsageError when one is something else.
MathOptions math_options();

}  // namespace ronde::inline v0::cuda
