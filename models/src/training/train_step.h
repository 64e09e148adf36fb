/// One update of the weights.
#pragma once

#include <cstdint>

#include "model_state.h"
#include "training/running_totals.h"

namespace ronde::inline v0 {

/// This rank's samples of a step; `inputs` may have no rows.
struct StepData {
  Tensor inputs;
  Tensor targets;
  Tensor sample_keys;
};

/// Forward and backward of some samples: adds to the arena's gradients and to `totals`.
void accumulate_gradients(Model::State& model, const StepData& data, RunningTotals& totals);

/// Forward, backward and update; adds loss and metrics to `totals`. Gradients are the sum over the samples,
/// in pieces of `micro_batch` (0: at once); they travel with the last piece. Collective. Returns the number
/// of samples of all ranks.
std::int64_t train_step(Model::State& model, const StepData& data, std::int64_t micro_batch,
                        RunningTotals& totals);

}  // namespace ronde::inline v0
