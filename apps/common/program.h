/// The frame of a training program: options, ranks, errors, exit status.
#pragma once

#include <functional>
#include <string>

#include <ronde/distributed/communicator.h>

#include "common/train_options.h"

namespace ronde::apps {

struct ProgramInfo {
  std::string name;
  std::string summary;
  RecipeNames recipes;
};

using ProgramBody = std::function<void(Communicator& world, const TrainOptions& options)>;

/// `main` of a trainer. --help and --version print once and need no MPI. Wrong options, and ranks that were
/// started with different ones, end the job before any work with one line on stderr and exit status 2; what
/// `body` throws ends it as ronde::run_main says.
int program_main(int argc, char** argv, const ProgramInfo& info, const ProgramBody& body);

}  // namespace ronde::apps
