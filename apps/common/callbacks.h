/// TrainerCallbacks: the callbacks that recipe and options ask for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ronde/data/dataset.h>
#include <ronde/models/callback.h>
#include <ronde/models/model_checkpoint.h>

#include "common/recipe.h"
#include "common/resume.h"
#include "common/run_files.h"
#include "common/run_log.h"
#include "common/train_options.h"

namespace ronde::apps {

class TrainerCallbacks {
 public:
  /// `files` and `start` must outlive it.
  TrainerCallbacks(const TrainOptions& options, const Recipe& recipe, const TrainPlan& plan,
                   const RunFiles& files, const RunStart& start, const Dataset& train);

  /// In the order in which `fit` should call them.
  std::vector<Callback*> list() const;
  /// The file written last; empty when there is none.
  std::string latest_checkpoint() const;
  /// Whether that file holds the weights with the best val_loss, to be tested instead of the last ones.
  bool keeps_best() const { return keeps_best_; }
  /// For which training waited for checkpoints.
  double pause_seconds() const;

 private:
  void add_warmup(const TrainOptions& options, const TrainPlan& plan);
  void add_checkpoints(const TrainOptions& options, const Recipe& recipe, const TrainPlan& plan,
                       const RunFiles& files);
  void add_logs(const RunFiles& files, LogFile when_resumed);
  const ModelCheckpoint* add(ModelCheckpointOptions options);

  std::vector<std::unique_ptr<Callback>> callbacks_;
  const ModelCheckpoint* epoch_files_ = nullptr;
  const ModelCheckpoint* step_files_ = nullptr;
  bool keeps_best_ = false;
};

}  // namespace ronde::apps
