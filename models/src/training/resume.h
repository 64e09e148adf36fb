/// Going on with an earlier run: giving callbacks and the net back what they had. Whether it is the same run:
/// run_plan.h.
#pragma once

#include <string>
#include <vector>

#include <ronde/models/callback.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

/// On rank 0.
std::vector<SavedCallback> save_callbacks(const std::vector<Callback*>& callbacks);
/// Asks each callback whether what the one of the same name remembered is of its run. UsageError.
void require_same_run(const std::vector<Callback*>& callbacks, const std::vector<SavedCallback>& saved);
/// Gives each callback what the one of the same name (the first, the second, ... of that name) remembered.
/// Returns a line for each that has no counterpart.
std::vector<std::string> restore_callbacks(const std::vector<Callback*>& callbacks,
                                           const std::vector<SavedCallback>& saved);

/// Behind loading a file of moving averages: training goes on from the weights beside them. Collective.
void return_to_trained_weights(Model::State& model);

/// The first checkpoint that a callback wants to go on from; empty: none. Collective.
std::string find_backup(Communicator& communicator, const FitOptions& options);

}  // namespace ronde::inline v0
