/// A training run from recipe and options: banner, fit, checkpoints, logs, test, report.
#pragma once

#include <string>

#include <ronde/core/cuda.h>
#include <ronde/data/dataset.h>
#include <ronde/distributed/communicator.h>
#include <ronde/models/uploader.h>

#include "common/recipe.h"
#include "common/run_clock.h"
#include "common/run_files.h"
#include "common/train_options.h"

namespace ronde::apps {

struct TrainingJob {
  const std::string& program;
  const TrainOptions& options;
  const Recipe& recipe;
  const TrainPlan& plan;
  const RunFiles& files;
  const std::string& data_description;  ///< a line for people
  const Dataset& train;
  const Dataset& test;
  ChosenDevice device = {};      ///< of this rank
  Uploader* uploader = nullptr;  ///< nullptr: nothing is uploaded
};

/// Collective. Ends with the lines `Test loss: ...` and `Test accuracy: ...` on rank 0.
void run_training(Communicator& world, const TrainingJob& job, RunClock& clock);

}  // namespace ronde::apps
