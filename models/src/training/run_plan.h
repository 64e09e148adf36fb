/// What makes a run of `fit` the run it is, written down, and whether two such descriptions say the same.
#pragma once

#include <string>
#include <vector>

#include <ronde/data/sampler.h>
#include <ronde/models/callback.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

/// By what the net, an augmentation and weights of samples are known. To be made once for a `fit`: it looks
/// at all of them, and lets the augmentation change a few pictures.
ConfigDict run_identities(const Model::State& model, const FitOptions& options);
/// What makes a run the run it is: data, batches, optimizer, loss. A difference would change its values.
ConfigDict run_plan(const Model::State& model, const SamplerOptions& sampling, const FitOptions& options,
                    const TrainingPlan& plan, const ConfigDict& identities);
/// What only rounds sums differently, or changes of which samples a batch norm takes its statistics.
ConfigDict run_arithmetic(const Model::State& model, const SamplerOptions& sampling,
                          const FitOptions& options);

/// UsageError that names the first entry that differs, with both values. A setting of optimizer or loss that
/// only one side has is its default, "none", on the other; other entries that only one side has are left out:
/// an older Ronde wrote less.
void require_same_plan(const ConfigDict& before, const ConfigDict& now);
/// UsageError when the sums of the epoch so far, of which there are `sums` here, are those of other metrics.
void require_same_metrics(const SavedRun& run, const std::vector<std::string>& metrics, std::size_t sums);
/// A line that names every entry that differs, with both values; empty when none does.
std::string describe_differences(const ConfigDict& before, const ConfigDict& now);

}  // namespace ronde::inline v0
