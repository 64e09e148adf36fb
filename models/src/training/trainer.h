/// Trainer: one call of Model::fit.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ronde/data/data_loader.h>
#include <ronde/models/callback.h>

#include "model_state.h"
#include "training/running_totals.h"
#include "training/stopwatch.h"

namespace ronde::inline v0 {

class Trainer {
 public:
  Trainer(Model& model, Model::State& state, const Dataset& data, const FitOptions& options);
  ~Trainer();
  History run();

 private:
  void add_progress_bar();
  void run_epoch(std::int64_t epoch);
  void run_step(std::int64_t step);
  void after_step(std::int64_t step);
  /// Loss and metrics of the epoch over all ranks; NaN or infinity ends the training on all of them.
  void finish_training_part(Logs& logs);
  void validate(Logs& logs);
  void record(std::int64_t epoch, const Logs& logs);

  Model& model_;
  Model::State& state_;
  const FitOptions& options_;
  DataLoader loader_;
  TrainingPlan plan_;
  std::vector<Callback*> callbacks_;
  std::unique_ptr<Callback> progress_bar_;
  RunningTotals totals_;
  Stopwatch stopwatch_;
  History history_;
};

}  // namespace ronde::inline v0
