/// A model as the content of a file: copies in host memory, which the training that goes on does not touch.
#pragma once

#include <ronde/models/saved_model.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

/// The weights alone.
SavedModel capture_weights(const Model::State& model);
/// With the description of the net, the state of the training, and `run`. On rank 0.
SavedModel capture(const Model::State& model, std::optional<SavedRun> run,
                   const std::vector<OptimizerSlot>& slots);

}  // namespace ronde::inline v0
