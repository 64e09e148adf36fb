#pragma once

#include <cstdint>

#include <ronde/data/dataset.h>

#include "model_state.h"

namespace ronde::inline v0 {

/// Loss and metrics over a whole data set. Batches are cut from it in order, and each rank takes some that
/// follow one another, whole: so each is computed by the same calls wherever that is, and the sums of all
/// batches, added up in their order, are the same bits on any number of ranks and threads. Collective. Resets
/// the model's metrics.
Evaluation evaluate_dataset(Model::State& model, const Dataset& data, const EvaluateOptions& options);

/// Averages what ranks have trained on their own since the last time: moving statistics and, after local
/// steps, weights and the optimizer's state, which are the same everywhere then. Collective.
void average_statistics(Model::State& model);

/// UsageError unless samples of `data` fit the net.
void require_fitting_inputs(const Model::State& model, const Dataset& data, const char* verb);

}  // namespace ronde::inline v0
