/// What each kernel of a step takes, on the default backend.
#pragma once

#include "options.h"

namespace bench {

/// Prints a row for each kernel and shape: calls, ms and share of a step, GF/s (or GB/s of the tensors that
/// it reads and writes), all measured while whole steps run.
void print_kernel_table(const Options& options);

}  // namespace bench
