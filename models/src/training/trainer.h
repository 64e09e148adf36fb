/// Trainer: one call of Model::fit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/data/data_loader.h>
#include <ronde/models/callback.h>
#include <ronde/models/save_point.h>

#include "state/model_state.h"
#include "training/checkpointer.h"
#include "training/evaluator.h"
#include "training/non_finite_guard.h"
#include "training/non_finite_recovery.h"
#include "training/rank_watch.h"
#include "training/replica_check.h"
#include "training/running_totals.h"
#include "training/sharded_step.h"
#include "training/speed_tuning.h"
#include "training/step_audit.h"
#include "training/stopwatch.h"
#include "training/train_step.h"

namespace ronde::inline v0 {

class Trainer {
 public:
  Trainer(Model& model, Model::State& state, const Dataset& data, const FitOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  History run();

  /// Where the run stands, for a file; the callbacks' part on rank 0 only. Collective.
  SavedRun saved_run();
  /// Before somebody else uses the model's metrics.
  void lend_metrics() { totals_.lend_metrics(); }

 private:
  ConfigDict plan_of_run() const;
  std::int64_t steps_left() const;
  bool is_cut_short() const;
  bool is_over() const;
  void add_progress_bar();
  /// Takes over where `state_.run` stopped.
  void go_on();
  /// Gives the callbacks, and the rate which their first hooks may have changed, what the run had.
  void restore_callbacks_and_rate();
  void begin();
  void use_average();
  void run_epoch();
  void run_step();
  const Batch* next_batch();
  void train_on(const Batch& batch);
  void tune(const Batch& batch);
  /// Changes the weights by the batches since the last update, which ends with this step, unless they would
  /// become NaN: Note [Calls of an update].
  void update(std::int64_t step);
  /// After an update that was refused.
  void recover(std::int64_t step);
  /// The same, heard late: of the last step that is done.
  void recover_late();
  void after_step();
  void end_epoch();
  /// Loss and metrics of the epoch over all ranks; NaN or infinity ends the training on all of them.
  void finish_training_part(Logs& logs);
  void validate(Logs& logs);
  void record(std::int64_t epoch, const Logs& logs);
  void take_back(const Logs& logs);
  void offer_save_after_step();
  void offer_save_after_epoch(std::int64_t epoch, const Logs& logs);
  void offer(SavePoint& point);
  /// The callback after whose on_train_end the run cannot go on; empty: none.
  std::string other_weights_by() const;
  [[noreturn]] void throw_non_finite() const;
  void warn(const std::string& problem) const;

  Model& model_;
  Model::State& state_;
  const FitOptions& options_;
  DataLoader loader_;
  TrainingPlan plan_;
  ConfigDict identities_;  // of what does not change
  std::vector<Callback*> callbacks_;
  std::unique_ptr<Callback> progress_bar_;
  RunningTotals totals_;
  NonFiniteGuard guard_;
  TrainStep train_step_;
  std::optional<ShardedStep> sharded_step_;  // in deterministic mode, instead
  Stopwatch stopwatch_;
  RankWatch rank_watch_;
  std::optional<SpeedTuning> speed_tuning_;
  Checkpointer checkpointer_;
  NonFiniteRecovery recovery_;
  ReplicaCheck replica_check_;
  StepAudit audit_;
  LossWeightsInUse loss_weights_;
  std::optional<Evaluator> validator_;
  History history_;
  std::int64_t epoch_ = 0;              // of the next step
  std::int64_t epoch_step_ = 0;         // steps of that epoch that are done
  std::int64_t waiting_ = 0;            // batches since the last update
  const Batch* batch_ = nullptr;        // of the last step
  bool loss_is_finite_ = true;          // of the epoch that ended
  bool ended_ = false;                  // run() did, not an exception
  std::optional<double> rate_;          // of a resumed run whose callbacks have not been restored yet
};

}  // namespace ronde::inline v0
