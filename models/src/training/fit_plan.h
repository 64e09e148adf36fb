/// What a call of `fit` amounts to.
#pragma once

#include <ronde/data/sampler.h>
#include <ronde/models/callback.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

/// This rank's samples of each step. UsageError for options that make no sense.
ShardedSampler make_sampler(const Model::State& model, const Dataset& data, const FitOptions& options);

/// From the beginning: the trainer fills in where a resumed run goes on.
TrainingPlan make_plan(const Model::State& model, const FitOptions& options, const ShardedSampler& sampler);

/// Samples of a batch of the validation.
std::int64_t validation_batch(const FitOptions& options, const ShardedSampler& sampler);

}  // namespace ronde::inline v0
