/// Updates of the weights from batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "state/model_state.h"
#include "training/running_totals.h"
#include "training/step_audit.h"

namespace ronde::inline v0 {

/// This rank's samples of a step; `inputs` may have no rows.
struct StepData {
  Tensor inputs;
  Tensor targets;
  Tensor sample_keys;
  std::int64_t global_count = 0;  ///< samples of all ranks; 0: not known
};

/// Whether more batches of the same update follow.
enum class BatchPosition { within, last };

/// The sum of the losses of the samples, each times its weight, of those that `fit` was given.
struct TrainingLoss {
  Variable sum = {};
  Tensor weights = {};  ///< (n); undefined: all are 1
};
TrainingLoss training_loss(const Model::State& model, const Variable& outputs, const StepData& data);

/// Forward and backward of some samples: adds to the arena's gradients and to `totals`.
void accumulate_gradients(Model::State& model, const StepData& data, RunningTotals& totals);

/// The layer of the net, if there is one, that works on the batch of all ranks.
const Module* find_synchronized(const Module& module);
/// Whether ranks go step by step, also those without samples, each with its batch in one piece: for such a
/// layer, or for the loss of outputs with a mask, which is a mean over the steps of all of them.
bool is_synchronized(const Model::State& model);

class CapturedPass;
class NonFiniteGuard;

class TrainStep {
 public:
  /// Computes pieces of `micro_batch` samples; 0: a batch at once. `guard`: see Note [Calls of an update].
  TrainStep(Model::State& model, std::int64_t micro_batch, NonFiniteGuard* guard = nullptr);
  ~TrainStep();

  /// What `add` begins with, for who may fail before that: whoever begins an update twice, because it has
  /// broken off the first one, tells the other ranks by that.
  void begin();
  /// Forward and backward of a batch; loss and metrics go to `totals`. Gradients are sums over the samples
  /// since the last update; they travel with the last piece of the last batch, or with the update when this
  /// step is audited. Where a graph repeats whole steps, the update is made here as well. Collective when
  /// the model is synchronized.
  void add(const StepData& data, BatchPosition position, RunningTotals& totals, StepAudit& audit);
  /// Whether `add` has made the update.
  bool has_updated() const { return updated_.has_value(); }
  /// Collective: one update by the average over the samples of all ranks. Returns their number. `witness`:
  /// for the optimizer's gate.
  std::int64_t update(double witness = 0.0);
  /// Why a GPU's steps cannot be repeated as a graph; told once, else empty.
  std::string take_fallback();

 private:
  void add_in_pieces(const StepData& data, std::int64_t piece, RunningTotals& totals);

  Model::State& model_;
  std::int64_t micro_batch_;
  NonFiniteGuard* guard_;
  std::unique_ptr<CapturedPass> captured_;
  StepSamples samples_;                  // since the last update
  std::optional<std::int64_t> updated_;  // `add` has made the update, of so many samples
  bool has_begun_ = false;               // these two: since the last update
  bool has_batches_ = false;
};

}  // namespace ronde::inline v0
