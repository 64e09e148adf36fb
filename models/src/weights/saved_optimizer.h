/// An optimizer's state <-> the part of a file that holds it: per weight, so that files know nothing of the
/// arena's layout.
#pragma once

#include <map>
#include <string>

#include <ronde/models/saved_model.h>
#include <ronde/nn/optimizer.h>

#include "weights/saved_layers.h"

namespace ronde::inline v0 {

/// `slots` hold the optimizer's whole state, wherever it is kept.
SavedOptimizer save_optimizer(const Optimizer& optimizer, const std::vector<OptimizerSlot>& slots,
                              const Module& module);

/// What a weight is called in the net alone, also if that is a part of another one by now.
std::string name_alone(const Module& net, const std::string& name);

/// What a slot holds of each weight, by the weights' names.
std::map<std::string, Tensor> values_by_name(const SavedSlot& slot);

/// Whether the weights saved with it are its moving averages.
bool is_averaged(const SavedOptimizer& saved);

/// Which part of the slots gets which saved values. InputError when a slot or a weight is missing or of
/// another shape.
std::vector<WeightAssignment> match_optimizer(const Optimizer& optimizer,
                                              const std::vector<OptimizerSlot>& slots, const Module& module,
                                              const SavedOptimizer& saved);

}  // namespace ronde::inline v0
