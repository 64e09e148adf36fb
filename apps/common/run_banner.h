/// The banner of a run: what trains where, and on what.
#pragma once

#include <string>

#include <ronde/distributed/communicator.h>

#include "common/training.h"
#include "report/report.h"

namespace ronde::apps {

/// `resume`: what is gone on from; empty when nothing was asked for.
std::string run_banner(const Communicator& world, const Report& report, const TrainingJob& job,
                       const std::string& resume);

}  // namespace ronde::apps
