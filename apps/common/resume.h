/// What --resume means for a run.
#pragma once

#include <string>

#include <ronde/distributed/communicator.h>

#include "common/report.h"
#include "common/run_files.h"
#include "common/train_options.h"

namespace ronde::apps {

/// Collective, before any file is made: what --resume names becomes a file (model_file.h). IoError when there
/// is none that can be read.
void settle_resume(Communicator& world, TrainOptions& options);

/// Collective: the file to go on from, the same on all ranks; empty: a new run. With `auto` it is the most
/// advanced good one among those that this run would write; files passed over are named on stderr, and the
/// damaged ones renamed, as this run may write others of the same names. The recipe
/// `estimator` goes on by itself in a --dir that has checkpoints.
std::string find_resume_file(Communicator& world, const TrainOptions& options, const Recipe& recipe,
                             const RunFiles& files);

/// For rank 0 of a new run, before it saves: from now on `--resume auto` goes on with this run, and not with
/// an earlier one whose checkpoints lie at the same place and may be more advanced. Gives the latest of
/// these.
std::string leave_earlier_run(const RunFiles& files);

/// A line for the banner.
std::string resume_line(const std::string& file, std::int64_t epochs, std::int64_t steps);

/// "; epoch 3 is trained again" where the run has been further than the file it goes on from, which may be
/// that of its best epoch.
std::string repeated_epochs(const Report& report, std::int64_t epochs);

/// What the metrics file of the run that goes on says of its epochs, so that it does not forget them; nothing
/// when there is no such file. For rank 0.
void recall_epochs(const RunFiles& files, Report& report);

}  // namespace ronde::apps
