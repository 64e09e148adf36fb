/// An optimizer's state <-> the part of a file that holds it: per weight, so that files know nothing of the
/// arena's layout.
#pragma once

#include <ronde/models/saved_model.h>
#include <ronde/nn/optimizer.h>

#include "weights/saved_layers.h"

namespace ronde::inline v0 {

/// `slots` hold the optimizer's whole state, wherever it is kept.
SavedOptimizer save_optimizer(const Optimizer& optimizer, const std::vector<OptimizerSlot>& slots,
                              const Module& module);

/// Whether the weights saved with it are its moving averages.
bool is_averaged(const SavedOptimizer& saved);

/// Which part of the slots gets which saved values. InputError when a slot or a weight is missing or of
/// another shape.
std::vector<WeightAssignment> match_optimizer(const Optimizer& optimizer,
                                              const std::vector<OptimizerSlot>& slots, const Module& module,
                                              const SavedOptimizer& saved);

}  // namespace ronde::inline v0
