#include "report/report_files.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include <ronde/core/error.h>
#include <ronde/models/file_io.h>

#include "report/epoch_table.h"
#include "report/report_json.h"

namespace ronde::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;
constexpr const char* kDetailsFile = "evaluation.json";

bool exists(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// The first of these that is a file; empty when none is.
fs::path first_file(std::initializer_list<fs::path> candidates) {
  const auto found = std::find_if(candidates.begin(), candidates.end(), exists);
  return found == candidates.end() ? fs::path() : *found;
}

}  // namespace

void write_run_report(const RunReport& run, const std::string& logs, const std::string& page) {
  atomic_write_file((fs::path(logs) / kDetailsFile).string(), details_json(run));
  if (!page.empty()) atomic_write_file(page, html_report(run));
}

RunReport read_run_report(const std::string& directory) {
  const fs::path root = directory;
  std::error_code error;
  require<IoError>(fs::is_directory(root, error), directory, ": no such directory: give a run's --dir");
  const fs::path metrics =
      first_file({root / "metrics.json", root.lexically_normal() / ".." / "metrics.json"});
  const fs::path details = first_file({root / "logs" / kDetailsFile, root / kDetailsFile});
  const fs::path table = first_file({root / "logs" / "training.csv", root / "training.csv"});
  RunReport run;
  if (!details.empty()) parse_details(read_file(details.string(), kMostBytes), details.string(), run);
  if (!metrics.empty()) {
    run.report = parse_report(read_file(metrics.string(), kMostBytes), metrics.string());
  } else if (!table.empty()) {
    run.report = parse_epoch_table(read_file(table.string(), kMostBytes), table.string());
  } else {
    throw IoError(cat(directory, ": holds neither metrics.json nor training.csv: give a run's --dir"));
  }
  if (run.details && !run.report.test) run.report.test = run.details->test;
  return run;
}

}  // namespace ronde::apps
