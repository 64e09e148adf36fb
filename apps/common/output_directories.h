/// Output directories: made, and tried, before training begins rather than hours later.
#pragma once

#include <ronde/distributed/communicator.h>

#include "common/train_options.h"

namespace ronde::apps {

/// Collective; rank 0 does it. An IoError, on all ranks, names the option and the reason.
void prepare_output_directories(Communicator& world, const TrainOptions& options, bool writes_checkpoints);

}  // namespace ronde::apps
