/// Whether all ranks were asked for the same training.
#pragma once

#include <ronde/models/callback.h>
#include <ronde/nn/config.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

/// CollectiveError that names what a rank was asked for otherwise than rank 0: of `options` (run_plan's
/// entries) and of how long it trains. Without it, ranks would learn only that their collectives differ, or
/// train different nets. Collective.
void require_one_plan(const Model::State& model, ConfigDict options, const TrainingPlan& plan);

}  // namespace ronde::inline v0
