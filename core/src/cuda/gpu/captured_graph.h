/// What a stream was given, as a graph.
#pragma once

#include <cuda_runtime_api.h>

namespace ronde::inline v0::cuda {

/// Ends a capture. Libraries set counters and sums to zero ahead of their kernels, and a graph has a node of
/// its own kind for that, behind which a GPU stands still: on an H200 for 4 to 16 us, for 4 bytes. So a
/// kernel is in the place of each.
cudaError_t end_capture(cudaStream_t stream, cudaGraphExec_t* graph);

}  // namespace ronde::inline v0::cuda
