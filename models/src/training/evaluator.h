#pragma once

#include <cstdint>

#include <ronde/data/data_loader.h>

#include "state/loss_weights.h"
#include "state/model_state.h"
#include "training/running_totals.h"

namespace ronde::inline v0 {

/// Loss and metrics over a whole data set. Batches are cut from it in order, and each rank takes some that
/// follow one another, whole: so each is computed by the same calls wherever that is, and the sums of all
/// batches, added up in their order, are the same bits on any number of ranks and threads.
class Evaluator {
 public:
  /// Model and data set must outlive it.
  Evaluator(Model::State& model, const Dataset& data, EvaluateOptions options);

  /// Collective. Resets the model's metrics.
  Evaluation run();

 private:
  struct Sums;
  Sums evaluate_batches(std::int64_t batches);
  void add_outcome(const Batch& batch);

  Model::State& model_;
  std::vector<TestTimeView> views_;
  DataLoader loader_;  // keeps a data set in memory on a GPU
  RunningTotals totals_;
  LossWeights weights_;
};

/// Averages what ranks have trained on their own since the last time: moving statistics and, after local
/// steps, weights and the optimizer's state, which are the same everywhere then. Collective.
void average_statistics(Model::State& model);

/// UsageError unless samples of `data` fit the net.
void require_fitting_inputs(const Model::State& model, const Dataset& data, const char* verb);

}  // namespace ronde::inline v0
