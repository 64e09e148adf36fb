/// What each kernel of a step takes, on the default backend.
#pragma once

#include "options.h"

namespace bench {

/// Prints a row for each kernel and shape: calls, ms and share of a step, GF/s (or GB/s of the tensors that
/// it reads and writes), all measured while whole steps run.
void print_kernel_table(const Options& options);

/// The arithmetic of one image: what its kernels are counted to do in a step of one.
double count_mflop_per_image(const Options& options);

}  // namespace bench
