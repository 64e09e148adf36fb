/// Fills in captured graphs as kernels.
#pragma once

#include <cuda_runtime_api.h>

namespace ronde::inline v0::cuda {

/// Libraries set counters and sums to zero ahead of their kernels, and a graph has a node of its own kind for
/// that, behind which a GPU stands still: on an H200 for 4 to 16 us, for 4 bytes. Puts a kernel in the place
/// of each.
cudaError_t replace_fills(cudaGraph_t graph);

}  // namespace ronde::inline v0::cuda
