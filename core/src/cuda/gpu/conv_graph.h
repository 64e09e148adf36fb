/// The patterns of convolutions as cuDNN's graphs: forward with bias and relu, by input, by weight. Operands
/// are f32 or bf16, each as the call says; sums and what is between two operations are floats.
///
/// Needs no device: a machine without one can check that every pattern of a net finalises.
#pragma once

#include <vector>

#include "cuda/gpu/cudnn_descriptor.h"

namespace ronde::inline v0::cuda {

/// Whether cuDNN is asked at all: floats or bf16, one group, a batch that is not empty.
bool is_for_cudnn(const Call& call);

/// A graph's operations, and which operand each of its tensors is.
struct ConvGraph {
  std::vector<CudnnDescriptor> parts;  ///< all that the operations refer to
  std::vector<CudnnDescriptor> operations;
  std::vector<int> operands;  ///< the tensor of unique id i + 1 is operand operands[i] of the call
};

/// All of it finalised. Throws GpuError.
ConvGraph make_conv_graph(const Call& call);

/// `handle` may be nullptr where cuDNN lets it.
CudnnDescriptor make_operation_graph(const ConvGraph& graph, cudnnHandle_t handle);

}  // namespace ronde::inline v0::cuda
