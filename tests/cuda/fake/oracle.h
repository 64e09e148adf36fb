/// Products and convolutions by the CPU's oracle; of bf16 in float, and a result is rounded once.
#pragma once

#include <functional>

#include "backend/cpu/cpu_backend.h"
#include "cuda/call.h"

namespace ronde::test {

/// `behind` maps a device address to where its bytes are.
void run_on_oracle(const cuda::Call& call, CpuBackend& oracle,
                   const std::function<void*(const void*)>& behind);

}  // namespace ronde::test
