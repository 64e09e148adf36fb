/// What batch_norm_inference and a convolution with it check.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

/// An error unless x is floating and has channels, and gamma and beta, if given, fit them.
void check_batch_norm(const Tensor& x, const Variable& gamma, const Variable& beta);
/// The same of the statistics.
void check_batch_norm(const Tensor& x, const Variable& gamma, const Variable& beta,
                      const BatchStatistics& statistics);

}  // namespace ronde::inline v0
