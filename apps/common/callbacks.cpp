#include "common/callbacks.h"

#include <unistd.h>

#include <string_view>

#include <ronde/models/csv_logger.h>
#include <ronde/models/learning_rate_warmup.h>
#include <ronde/models/preemption.h>
#include <ronde/models/tensorboard.h>

#include "common/same_run.h"
#include "common/take_over.h"
#include "common/weights_line.h"

namespace ronde::apps {
namespace {

// Within a signal's handler, below the bar of a terminal.
void say_interrupted() {
  constexpr std::string_view kLine = "\nCtrl-C: saving after this step; again to end at once\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, kLine.data(), kLine.size());
}

}  // namespace

TrainerCallbacks::TrainerCallbacks(const TrainOptions& options, const Recipe& recipe, const TrainPlan& plan,
                                   const RunFiles& files, const RunStart& start, const Dataset& train) {
  callbacks_.push_back(std::make_unique<TakeOver>(start, files));
  callbacks_.push_back(std::make_unique<SameRun>(options, plan, train));
  if (recipe.make_callback != nullptr) callbacks_.push_back(recipe.make_callback());
  if (options.warmup_epochs > 0) add_warmup(options, plan);
  if (options.verbose == "2" && options.check_replicas > 0)
    callbacks_.push_back(std::make_unique<WeightsLine>());
  add_checkpoints(options, recipe, plan, files);
  if (!files.logs.empty()) add_logs(files, start.continues_place ? LogFile::continued : LogFile::begun_anew);
  callbacks_.push_back(std::make_unique<Preemption>(PreemptionOptions{
      .filepath = files.on_signal, .end_time = options.end_time, .on_interrupt = say_interrupted}));
}

void TrainerCallbacks::add_warmup(const TrainOptions& options, const TrainPlan& plan) {
  callbacks_.push_back(std::make_unique<LearningRateWarmup>(
      LearningRateWarmupOptions{.scale = plan.learning_rate / plan.base_learning_rate,
                                .warmup_epochs = static_cast<double>(options.warmup_epochs)}));
}

void TrainerCallbacks::add_checkpoints(const TrainOptions& options, const Recipe& recipe,
                                       const TrainPlan& plan, const RunFiles& files) {
  const int verbose = options.verbose == "2" ? 1 : 0;
  if (!files.epoch_checkpoints.empty()) {
    // One file for all epochs should hold the best of them, if there is a val_loss to tell.
    const bool is_one_file = files.epoch_checkpoints.find('{') == std::string::npos;
    keeps_best_ = recipe.validate_each_epoch && is_one_file;
    epoch_files_ = add({.filepath = files.epoch_checkpoints,
                        .verbose = verbose,
                        .save_best_only = keeps_best_,
                        .keep = plan.keep_epochs});
  }
  // With train_and_evaluate they are the Estimator's.
  if (!files.step_checkpoints.empty() && !recipe.estimator)
    step_files_ = add({.filepath = files.step_checkpoints,
                       .verbose = verbose,
                       .save_steps = plan.save_steps,
                       .mtbf_seconds = plan.mtbf,
                       .keep = plan.keep_steps});
}

void TrainerCallbacks::add_logs(const RunFiles& files, LogFile when_resumed) {
  const auto add_log = [&](std::unique_ptr<Callback> log) {
    callbacks_.push_back(std::make_unique<RunLog>(std::move(log), when_resumed));
  };
  add_log(std::make_unique<CSVLogger>(CSVLoggerOptions{.filename = files.logs + "/training.csv"}));
  add_log(std::make_unique<TensorBoard>(TensorBoardOptions{.log_dir = files.logs}));
}

const ModelCheckpoint* TrainerCallbacks::add(ModelCheckpointOptions options) {
  auto files = std::make_unique<ModelCheckpoint>(std::move(options));
  const ModelCheckpoint* added = files.get();
  callbacks_.push_back(std::move(files));
  return added;
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

double TrainerCallbacks::pause_seconds() const {
  double seconds = 0.0;
  for (const ModelCheckpoint* files : {epoch_files_, step_files_})
    if (files != nullptr) seconds += files->total_pause_seconds();
  return seconds;
}

}  // namespace ronde::apps
