#include "common/resume.h"

#include <cstdio>

#include <ronde/models/file_io.h>
#include <ronde/models/latest_checkpoint.h>

#include "report/report_files.h"

namespace ronde::apps {
namespace {

std::string latest_of(const RunFiles& files) {
  LatestCheckpoint best;
  for (const std::string& pattern : {files.epoch_checkpoints, files.step_checkpoints, files.on_signal}) {
    if (pattern.empty()) continue;
    const LatestCheckpoint found = latest_checkpoint(pattern);
    for (const std::string& line : found.skipped)
      std::fprintf(stderr, "ronde: warning: %s: passed over\n", line.c_str());
    if (best.path.empty() || found.steps > best.steps) best = found;
  }
  return best.path;
}

}  // namespace

std::string find_resume_file(Communicator& world, const TrainOptions& options, const Recipe& recipe,
                             const RunFiles& files) {
  const bool by_itself = options.resume.empty() && recipe.estimator && !options.dir.empty();
  if (options.resume != "auto" && !by_itself) return options.resume;
  std::string file;
  collectively(world, [&] {
    if (world.rank() == 0) file = latest_of(files);
  });
  return broadcast_string(world, file);
}

std::string resume_line(const std::string& file, std::int64_t epochs, std::int64_t steps) {
  if (file.empty()) return "no checkpoint found: a new run";
  return cat("from ", file, ", after ", epochs, epochs == 1 ? " epoch" : " epochs", " and ", steps,
             " steps in all");
}

void recall_epochs(const RunFiles& files, Report& report) {
  for (const std::string& path : files.metrics) {
    try {
      report.epochs = parse_report(read_file(path), path).epochs;
      return;
    } catch (const Error&) {
      // A curve that begins later is no reason not to train.
    }
  }
}

}  // namespace ronde::apps
