/// What stands for cuDNN and cuBLASLt: the CPU's oracle. What Ronde's kernels do around them, they do here
/// too: the gradient of a bias, and, where the libraries have nothing, convolutions and the bias behind a
/// product.
#pragma once

#include <functional>

#include "backend/cpu/cpu_backend.h"
#include "cuda/call.h"

namespace ronde::test {

bool is_convolution(cuda::Op op);

/// A call that needs a plan; `libraries` says whether they have what could be done without them. `behind`
/// maps a device address to where its bytes are.
void run_planned(const cuda::Call& call, CpuBackend& oracle, const std::function<void*(const void*)>& behind,
                 bool libraries);

}  // namespace ronde::test
