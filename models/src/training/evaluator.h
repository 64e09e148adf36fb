#pragma once

#include <cstdint>

#include <ronde/data/dataset.h>

#include "model_state.h"

namespace ronde::inline v0 {

/// Loss and metrics over a whole data set, sharded over the ranks without padding, so that every count is
/// exact. With virtual shards the result is the same, bit for bit, on any number of ranks. Collective. Resets
/// the model's metrics.
Evaluation evaluate_dataset(Model::State& model, const Dataset& data, std::int64_t global_batch,
                            int virtual_shards = 0);

/// Averages the moving statistics over the ranks if they have trained since the last time, after which all
/// weights are the same everywhere. Collective.
void average_statistics(Model::State& model);

/// UsageError unless samples of `data` fit the net.
void require_fitting_inputs(const Model::State& model, const Dataset& data, const char* verb);

}  // namespace ronde::inline v0
