/// RunFiles: where a run writes.
///
///     checkpoint.h5, checkpoint-3.h5 ...          after each epoch: as the recipe or --checkpoint says
///     model-003-00100.h5 ...                      every --save-steps
///     on-signal.h5                                when a signal asks for it, or the time is up
///     saved_models/...                            what a recipe saves at the end
///     .new-run                                    names of an earlier run's checkpoints
///     logs/                                       training.csv, TensorBoard's files, evaluation.json
///     metrics.json, report.html                   results, for scripts and for people
///
/// all in --dir. Without it models go to the working directory, and the rest is not written unless --log-dir
/// or --metrics-json ask for it.
#pragma once

#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>

#include "common/recipe.h"
#include "common/train_options.h"

namespace ronde::apps {

/// What is empty is not written.
struct RunFiles {
  std::string epoch_checkpoints;  ///< pattern, with {epoch} ...
  std::string step_checkpoints;   ///< pattern, with {epoch} and {batch}
  std::string new_run;            ///< names the checkpoints of an earlier run
  std::string on_signal;          ///< what a signal or the end of the time makes a run save
  std::string saved_model;
  std::string logs;                  ///< directory
  std::vector<std::string> metrics;  ///< all get the same
  std::string report;                ///< page
};

/// UsageError when --keep has nothing to choose from.
RunFiles run_files(const TrainOptions& options, const Recipe& recipe, const TrainPlan& plan);

/// Collective; rank 0 makes the directories and tries them, before training begins rather than hours later.
/// An IoError, on all ranks, names the option and the reason. What names one file (--metrics-json,
/// --timeline) needs a folder that is there. UsageError when two outputs would be one file.
void prepare_directories(Communicator& world, const TrainOptions& options, const RunFiles& files);

}  // namespace ronde::apps
