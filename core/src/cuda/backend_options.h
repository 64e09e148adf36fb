/// How this process wants a GPU to compute.
#pragma once

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

struct CudaBackendOptions {
  int index = 0;
  MathOptions math = {};
  bool graphs = true;   ///< whether a RepeatedStep becomes a graph
  bool windows = true;  ///< whether ranks may reach each other's memory (group_windows.h)
};

/// `$RONDE_CUDA_MATH`: "f32" (default) or "tf32"; `$RONDE_CUDA_ENGINES`: "fastest", "tuned" (default) or
/// "deterministic"; `$RONDE_CUDA_GRAPHS`, `$RONDE_NCCL_WINDOWS`: "on" (default) or "off". A UsageError when
/// one is something else.
CudaBackendOptions options_of_environment(int index = 0);

}  // namespace ronde::inline v0::cuda
