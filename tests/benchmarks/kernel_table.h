/// What each kernel of a net's training step takes, on the default backend.
#pragma once

#include "options.h"

namespace bench {

/// Prints one row per kernel: ms, share of the sum, GF/s (or GB/s of the tensors it touches).
void print_kernel_table(const Options& options);

}  // namespace bench
