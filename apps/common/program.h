/// The frame of a training program: options, ranks, data, errors, exit status.
#pragma once

#include <string>
#include <vector>

#include "common/recipe.h"
#include "common/training_data.h"

namespace ronde::apps {

struct TrainingProgram {
  std::string name;
  std::string summary;
  std::vector<std::string> recipes;  ///< the words of --recipe; the first is the default
  Recipe (*recipe)(const std::string& name) = nullptr;
  DataSource data;
};

/// `main` of a trainer. --help and --version print once and need no MPI. Wrong options, and ranks that were
/// started with different ones, end the job before any work with one line on stderr and exit status 2; then
/// output directories are tried, before data is loaded. Errors end the job as ronde::run_main says.
int program_main(int argc, char** argv, const TrainingProgram& program);

}  // namespace ronde::apps
