/// A Call by Ronde's own kernels, the very sources that run on a GPU.
#pragma once

#include <functional>
#include <stdexcept>

#include "cuda/call.h"
#include "cuda/gpu/kernels.h"

namespace ronde::test {

/// What a kernel must not have done.
struct KernelFault : std::logic_error {
  using std::logic_error::logic_error;
};

/// Enqueues kernels for a call: `cuda::run_kernel`, or those behind a library's product.
using EnqueueKernels = std::function<void(const cuda::Call&, const cuda::Place&)>;

/// Gives the kernels copies of the operands between bytes that make floats NaN, so that they read nothing
/// else, and copies back what they may write. `behind` maps a device address to where its bytes are. Throws
/// Deadlock; KernelFault when something beside the operands or an input was written; what a GPU complains of
/// later as runtime_error.
void run_on_kernels(const cuda::Call& call, const std::function<void*(const void*)>& behind,
                    const EnqueueKernels& enqueue = cuda::run_kernel);

}  // namespace ronde::test
