/// The part of batch normalisation that spans ranks: their batches count as one.
#pragma once

#include <ronde/core/ops.h>

namespace ronde::inline v0 {

/// In: of this rank's batch. Out: of all ranks' batches together.
void merge_statistics(BatchStatistics& statistics, const SumOverRanks& sum_over_ranks);

/// Sums over this rank's rows, (c) each.
struct GradientSums {
  Tensor of_grad;          ///< of the gradient behind the layer
  Tensor of_grad_times_x;  ///< of that times the normalised x
};

/// Adds to grad_x, which is what this rank's rows alone would have, the share that goes through the
/// statistics to the rows of the other ranks.
void add_gradient_of_other_ranks(const Tensor& grad_x, const GradientSums& sums, const Tensor& x,
                                 const BatchStatistics& statistics, const Tensor& gamma,
                                 BatchNormParams params, const SumOverRanks& sum_over_ranks);

}  // namespace ronde::inline v0
