/// What --resume means for a run.
#pragma once

#include <string>
#include <vector>

#include <ronde/distributed/communicator.h>

#include "common/run_files.h"
#include "common/train_options.h"
#include "report/report.h"

namespace ronde::apps {

/// Collective, before any file is made: what --resume names becomes a file (model_file.h). IoError when there
/// is none that can be read. A job that was started again may not need it any more: it looks when it does.
void settle_resume(Communicator& world, TrainOptions& options);

/// What a run begins with. TakeOver makes of it what the run does to files of others.
struct RunStart {
  std::string file;  ///< to go on from; empty: from new weights
  /// Whether what lies at the run's place is its own, to be continued: logs, metrics.
  bool continues_place = false;
  std::string earlier = {};                     ///< on rank 0: the latest checkpoint of an earlier run there
  std::vector<std::string> earlier_files = {};  ///< on rank 0, where there is one: all of them
  std::vector<std::string> damaged = {};        ///< on rank 0: in the way of files that this run may write
};

/// Collective: what is the same on all ranks is so; changes no file. With `auto` the run goes on from the
/// most advanced good checkpoint among those that it would write; files passed over are named on stderr. The
/// recipe `estimator` goes on by itself in a --dir that has checkpoints. A FILE of another place, or of a run
/// that another has followed, makes this a new run at its place. A job that was started again goes on as with
/// `auto`, and begins with FILE once more when it had not saved anything yet.
RunStart find_start(Communicator& world, const TrainOptions& options, const Recipe& recipe,
                    const RunFiles& files);

/// A line for the banner, when a run that was to go on does so from `file`.
std::string resume_line(const std::string& file, std::int64_t epochs, std::int64_t steps);

/// "; epoch 3 is trained again" where the run has been further than the file it goes on from, which may be
/// that of its best epoch.
std::string repeated_epochs(const Report& report, std::int64_t epochs);

/// What the metrics file of the run that goes on says of its epochs and their times, so that it does not
/// forget them; nothing when there is no such file. For rank 0.
void recall_epochs(const RunFiles& files, Report& report);

}  // namespace ronde::apps
