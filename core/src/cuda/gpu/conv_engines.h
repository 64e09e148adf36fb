/// Which of cuDNN's engines a convolution may have. Needs no device: a machine without one can ask for
/// another's.
#pragma once

#include <string>
#include <vector>

#include "cuda/gpu/cudnn_descriptor.h"

namespace ronde::inline v0::cuda {

struct EngineRules {
  MathOptions math = {};
  bool is_bfloat16 = false;  ///< all that is multiplied, or it was before it was copied to floats
};

/// Configurations that cuDNN recommends for a graph and that the rules allow, the best first, the generic
/// engine last, none twice: without TF32, and of bf16, none that rounds its inputs or transforms them by
/// Winograd; none that does not give the same bits each time, unless the rules ask for the fastest. `device`:
/// whose, as cuDNN's descriptor of its properties; nullptr: that of the graph's handle.
std::vector<CudnnDescriptor> allowed_engines(const CudnnDescriptor& graph, const EngineRules& rules,
                                             const CudnnDescriptor* device = nullptr);

/// What cuDNN says where none is allowed. It recommends nothing, without an error, where all that it has
/// would have to be compiled and something for that is missing: which is no property of the convolution.
std::string why_no_engine(const CudnnDescriptor& graph, const CudnnDescriptor* device = nullptr);

/// Among those for its graph.
std::int64_t number_of_engine(const CudnnDescriptor& configuration);

bool is_compiled_at_run_time(const CudnnDescriptor& configuration);

}  // namespace ronde::inline v0::cuda
