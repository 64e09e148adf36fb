/// Plans of convolutions: cuDNN's fastest engine that may be used, or our own kernels where they are faster;
/// where it has none, our own direct kernel.
#pragma once

#include <memory>
#include <mutex>

#include <cudnn_graph.h>

#include "cuda/gpu/plan.h"

namespace ronde::inline v0::cuda {

/// A handle has one stream at a time, so one thread has the handle.
struct Cudnn {
  cudnnHandle_t handle = nullptr;
  std::mutex mutex = {};
};

/// Tries the engines that may be used (conv_engines.h) on the call's own operands and keeps the fastest; in
/// deterministic mode it takes our own kernel for plain floats, else the first. Throws GpuError where only of
/// bf16 there is none, and `better_in_float` where the gradient of a weight is. `cudnn` must outlive the
/// plan.
std::unique_ptr<PlanTag> make_conv_plan(const Call& call, const MathOptions& math, Cudnn& cudnn,
                                        const Place& place);

}  // namespace ronde::inline v0::cuda
