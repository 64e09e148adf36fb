/// Plans of convolutions: cuDNN's fastest engine that may be used, or our own kernels where they are faster;
/// where it has none, our own direct kernel.
///
/// Note [Ways of a convolution]
/// A call, and so each gradient, goes the first of these ways that takes it:
///
///     up to 36 values a filter, one group, no f64: forward of   few_taps*.cu
///     up to 4 channels, and gradients of weights
///     plain f32 (RONDE_CUDA_MATH=f32), one group, channels      tiled_*.cu where engines are to be
///     and filters by fours, gradients of inputs with stride 1   deterministic, or are slower by a trial
///     f64, groups                                               direct_conv2d.cu: right and slow
///     f32, bf16                                                 cuDNN
///     f32 that cuDNN has no engine for                          direct_conv2d.cu
///     bf16 that it has none for                                 float copies: again from the top
///
/// cuDNN has an engine of bf16 for the gradient of a weight whose sums stay f32 (`sums_in_float`); where
/// float copies are faster by a trial, the copying included, or engines are to be deterministic, it is them.
/// The bias of a convolution comes rounded with its weight (`bias_value` in ops): with one of f32 cuDNN has
/// only engines that it compiles. Tiles gain where cuDNN would put channels first and back. Which of cuDNN's
/// engines may be used: conv_engines.h; each is held against the definition: Note [Checked engines].
/// `Detours` has the list of what goes a slower way.
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
