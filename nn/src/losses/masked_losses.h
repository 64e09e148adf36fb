/// Losses of outputs that have a mask.
#pragma once

#include <ronde/nn/loss.h>

namespace ronde::inline v0 {

/// As losses_of_samples, of an output with a mask.
Variable losses_of_masked(const Loss& loss, const Variable& output, const Tensor& target,
                          const SumOverRanks& sum_over_ranks);

}  // namespace ronde::inline v0
