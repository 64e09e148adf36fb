#include "common/callbacks.h"

#include <ronde/models/csv_logger.h>
#include <ronde/models/learning_rate_warmup.h>

#include "common/replica_check.h"

namespace ronde::apps {
namespace {

// Of the files written every so many steps.
constexpr const char* kStepPattern = "model-{epoch:03d}-{batch:05d}.h5";

std::string checkpoint_pattern(const TrainOptions& options, const Recipe& recipe) {
  return options.checkpoint.empty() ? recipe.best_checkpoint : options.checkpoint;
}

}  // namespace

bool writes_checkpoints(const TrainOptions& options, const Recipe& recipe, const TrainPlan& plan) {
  return !checkpoint_pattern(options, recipe).empty() || plan.save_steps > 0;
}

TrainerCallbacks::TrainerCallbacks(const TrainOptions& options, const Recipe& recipe, const TrainPlan& plan) {
  if (options.warmup_epochs > 0)
    callbacks_.push_back(std::make_unique<LearningRateWarmup>(
        LearningRateWarmupOptions{.scale = plan.learning_rate / plan.base_learning_rate,
                                  .warmup_epochs = static_cast<double>(options.warmup_epochs)}));
  // Before anything is saved: a run that has gone wrong leaves earlier files alone.
  callbacks_.push_back(std::make_unique<ReplicaCheck>(options.verbose == "2"));
  add_checkpoints(options, recipe, plan);
  if (!options.log_dir.empty())
    callbacks_.push_back(
        std::make_unique<CSVLogger>(CSVLoggerOptions{.filename = options.log_dir + "/training.csv"}));
}

void TrainerCallbacks::add_checkpoints(const TrainOptions& options, const Recipe& recipe,
                                       const TrainPlan& plan) {
  if (const std::string pattern = checkpoint_pattern(options, recipe); !pattern.empty()) {
    // One file for all epochs should hold the best of them, if there is a val_loss to tell.
    keeps_best_ = recipe.validate_each_epoch && pattern.find('{') == std::string::npos;
    auto files = std::make_unique<ModelCheckpoint>(
        ModelCheckpointOptions{.filepath = options.path_in_dir(pattern), .save_best_only = keeps_best_});
    epoch_files_ = files.get();
    callbacks_.push_back(std::move(files));
  }
  if (plan.save_steps > 0) {
    auto files = std::make_unique<ModelCheckpoint>(ModelCheckpointOptions{
        .filepath = options.path_in_dir(kStepPattern), .save_steps = plan.save_steps, .keep = plan.keep});
    step_files_ = files.get();
    callbacks_.push_back(std::move(files));
  }
}

std::vector<Callback*> TrainerCallbacks::list() const {
  std::vector<Callback*> list;
  for (const auto& callback : callbacks_) list.push_back(callback.get());
  return list;
}

std::string TrainerCallbacks::latest_checkpoint() const {
  if (epoch_files_ != nullptr && !epoch_files_->last_path().empty()) return epoch_files_->last_path();
  return step_files_ != nullptr ? step_files_->last_path() : "";
}

}  // namespace ronde::apps
