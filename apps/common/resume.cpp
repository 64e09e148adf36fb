#include "common/resume.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include <ronde/core/counted.h>
#include <ronde/models/file_io.h>
#include <ronde/models/latest_checkpoint.h>

#include "common/banner.h"
#include "common/model_file.h"
#include "report/report_files.h"

namespace ronde::apps {
namespace {

LatestCheckpoint latest_of(const RunFiles& files) {
  LatestCheckpoint best;
  std::vector<std::string> skipped, damaged;
  std::int64_t older = 0;
  for (const std::string& pattern : {files.epoch_checkpoints, files.step_checkpoints, files.on_signal}) {
    if (pattern.empty()) continue;
    const LatestCheckpoint found = latest_checkpoint(pattern, files.new_run);
    skipped.insert(skipped.end(), found.skipped.begin(), found.skipped.end());
    damaged.insert(damaged.end(), found.damaged.begin(), found.damaged.end());
    older += found.older;
    if (best.path.empty() || found.steps > best.steps) best = found;
  }
  best.skipped = std::move(skipped);
  best.damaged = std::move(damaged);
  best.older = older;
  return best;
}

// Out of the way of the run, which would write a file of the same name. Returns where it is now; empty: it
// could not be moved.
std::string put_aside(const std::string& path) {
  std::error_code error;
  std::string name = path + kDamagedEnding;
  for (int i = 2; std::filesystem::exists(name, error); ++i) name = cat(path, ".", i, kDamagedEnding);
  std::filesystem::rename(path, name, error);
  return error ? "" : name;
}

// Each line of `skipped` begins with the path of its file.
void warn_of_skipped(const LatestCheckpoint& latest) {
  std::map<std::string, std::string> kept;
  for (const std::string& path : latest.damaged) kept[path] = put_aside(path);
  for (const std::string& line : latest.skipped) {
    std::string place;
    for (const auto& [path, name] : kept)
      if (!name.empty() && line.starts_with(path + ": ")) place = ", and kept as " + name;
    std::fprintf(stderr, "ronde: warning: %s: passed over%s\n", line.c_str(), place.c_str());
  }
}

std::string found_file(const RunFiles& files) {
  const LatestCheckpoint latest = latest_of(files);
  warn_of_skipped(latest);
  if (latest.older > 0)
    std::fprintf(
        stderr,
        "ronde: warning: %s than %s, so of an earlier run: passed over; --resume FILE goes on from one\n",
        cat(counted(latest.older, "checkpoint"), latest.older == 1 ? " is older" : " are older").c_str(),
        files.new_run.c_str());
  return latest.path;
}

}  // namespace

void settle_resume(Communicator& world, TrainOptions& options) {
  if (options.resume.empty() || options.resume == "auto") return;
  collectively(world, [&] {
    if (world.rank() != 0) return;
    options.resume = model_file(options.resume);
    require_readable(options.resume);
  });
  options.resume = broadcast_string(world, options.resume);
}

std::string find_resume_file(Communicator& world, const TrainOptions& options, const Recipe& recipe,
                             const RunFiles& files) {
  const bool by_itself = options.resume.empty() && recipe.estimator && !options.dir.empty();
  if (options.resume != "auto" && !by_itself) return options.resume;
  std::string file;
  collectively(world, [&] {
    if (world.rank() == 0) file = found_file(files);
  });
  return broadcast_string(world, file);
}

std::string leave_earlier_run(const RunFiles& files) {
  const std::string earlier = latest_of(files).path;
  if (earlier.empty()) return "";
  std::ofstream(files.new_run)
      << "Checkpoints older than this file are of an earlier run: --resume auto passes "
         "them over.\n";
  return earlier;
}

std::string resume_line(const std::string& file, std::int64_t epochs, std::int64_t steps) {
  if (file.empty()) return "no checkpoint found: a new run";
  return cat("from ", file, ", after ", counted(epochs, "epoch"), " and ", counted(steps, "step"), " in all");
}

std::string repeated_epochs(const Report& report, std::int64_t epochs) {
  const std::int64_t last = report.epochs.empty() ? 0 : report.epochs.back().epoch;
  if (last <= epochs) return "";
  if (last == epochs + 1) return cat("; epoch ", last, " is trained again");
  return cat("; epochs ", epochs + 1, " to ", last, " are trained again");
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
