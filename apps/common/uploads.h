/// What --upload means for a run.
#pragma once

#include <memory>

#include <ronde/core/error.h>
#include <ronde/distributed/communicator.h>
#include <ronde/models/uploader.h>

#include "common/run_files.h"
#include "common/train_options.h"

namespace ronde::apps {

/// Collective: nullptr without --upload. Errors are thrown on all ranks, before any work.
std::unique_ptr<Uploader> make_uploader(Communicator& world, const TrainOptions& options);

/// On rank 0, when the run has ended: model, metrics, report, logs and timeline, as far as they are there.
void offer_results(Uploader& uploader, const TrainOptions& options, const RunFiles& files);

/// Waits for what is left, and says on stderr what is not uploaded. A run that was told to end waits a few
/// seconds only, and none so long that it would be taken for hung.
void end_uploads(Uploader& uploader, const TrainOptions& options, int status);

}  // namespace ronde::apps
