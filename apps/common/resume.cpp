#include "common/resume.h"

#include <cstdio>
#include <filesystem>

#include <ronde/core/counted.h>
#include <ronde/models/file_io.h>
#include <ronde/models/latest_checkpoint.h>

#include "common/earlier_files.h"
#include "common/model_file.h"
#include "report/report_json.h"

namespace ronde::apps {
namespace {

namespace fs = std::filesystem;

LatestCheckpoint latest_of(const RunFiles& files) {
  LatestCheckpoint best;
  std::vector<std::string> skipped, damaged;
  std::int64_t refused = 0;
  std::vector<std::string> paths;
  const EarlierFiles earlier(files.new_run);
  for (const std::string& pattern : {files.epoch_checkpoints, files.step_checkpoints, files.on_signal}) {
    if (pattern.empty()) continue;
    const LatestCheckpoint found =
        latest_checkpoint(pattern, [&](const std::string& path) { return earlier.contains(path); });
    skipped.insert(skipped.end(), found.skipped.begin(), found.skipped.end());
    damaged.insert(damaged.end(), found.damaged.begin(), found.damaged.end());
    refused += found.refused;
    paths.insert(paths.end(), found.paths.begin(), found.paths.end());
    if (best.path.empty() || found.steps > best.steps) best = found;
  }
  best.skipped = std::move(skipped);
  best.damaged = std::move(damaged);
  best.refused = refused;
  best.paths = std::move(paths);
  return best;
}

void warn_of_skipped(const LatestCheckpoint& latest, const RunFiles& files) {
  for (const std::string& line : latest.skipped)
    std::fprintf(stderr, "ronde: warning: %s: passed over\n", line.c_str());
  if (latest.refused > 0)
    std::fprintf(
        stderr,
        "ronde: warning: %s of an earlier run, as %s says: passed over; --resume FILE goes on from one\n",
        cat(counted(latest.refused, "checkpoint"), latest.refused == 1 ? " is" : " are").c_str(),
        files.new_run.c_str());
}

RunStart start_by_itself(const RunFiles& files) {
  LatestCheckpoint latest = latest_of(files);
  warn_of_skipped(latest, files);
  return {.file = latest.path, .continues_place = !latest.path.empty(), .damaged = std::move(latest.damaged)};
}

fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : real;
}

bool is_below(const fs::path& folder, const fs::path& file) {
  const fs::path way = real_path(file).lexically_relative(real_path(folder));
  return !way.empty() && *way.begin() != "..";
}

// Whether it lies where this run writes, and no other run has begun there since.
bool is_of_this_place(const std::string& file, const TrainOptions& options, const RunFiles& files) {
  if (EarlierFiles(files.new_run).contains(file)) return false;
  if (!options.dir.empty() && is_below(options.dir, file)) return true;
  const fs::path folder = real_path(file).parent_path();
  for (const std::string& own : {files.epoch_checkpoints, files.step_checkpoints, files.on_signal})
    if (!own.empty() && real_path(own).parent_path() == folder) return true;
  return false;
}

RunStart start_from(const std::string& file, const TrainOptions& options, const RunFiles& files) {
  if (!file.empty() && is_of_this_place(file, options, files)) return {.file = file, .continues_place = true};
  LatestCheckpoint latest = latest_of(files);
  return {.file = file, .earlier = std::move(latest.path), .earlier_files = std::move(latest.paths)};
}

bool names_file(const TrainOptions& options) {
  return !options.resume.empty() && options.resume != "auto";
}

std::string file_of(const TrainOptions& options) {
  const std::string file = model_file(options.resume);
  require_readable(file);
  return file;
}

// It died before it had saved anything, or only what was damaged.
RunStart start_once_more(RunStart found, const TrainOptions& options, const RunFiles& files) {
  RunStart start = start_from(file_of(options), options, files);
  start.damaged = std::move(found.damaged);
  return start;
}

RunStart start_here(const TrainOptions& options, const RunFiles& files, bool by_itself) {
  if (names_file(options) && !options.restarted) return start_from(options.resume, options, files);
  if (options.resume.empty() && !by_itself) return start_from("", options, files);
  RunStart start = start_by_itself(files);
  if (!start.file.empty() || !names_file(options)) return start;
  return start_once_more(std::move(start), options, files);
}

}  // namespace

void settle_resume(Communicator& world, TrainOptions& options) {
  if (!names_file(options) || options.restarted) return;
  collectively(world, [&] {
    if (world.rank() == 0) options.resume = file_of(options);
  });
  options.resume = broadcast_string(world, options.resume);
}

RunStart find_start(Communicator& world, const TrainOptions& options, const Recipe& recipe,
                    const RunFiles& files) {
  const bool by_itself = options.resume.empty() && recipe.estimator && !options.dir.empty();
  RunStart start;
  collectively(world, [&] {
    if (world.rank() == 0) start = start_here(options, files, by_itself);
  });
  start.file = broadcast_string(world, start.file);
  start.continues_place = !broadcast_string(world, start.continues_place ? "yes" : "").empty();
  return start;
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
      Report before = parse_report(read_file(path), path);
      report.epochs = std::move(before.epochs);
      report.unfinished = before.unfinished;
      report.images_per_second = before.images_per_second;
      return;
    } catch (const Error&) {
      // A curve that begins later is no reason not to train.
    }
  }
}

}  // namespace ronde::apps
