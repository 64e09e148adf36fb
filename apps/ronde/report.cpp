// `ronde report DIR`
#include <cstdio>
#include <memory>

#include <ronde/core/error.h>
#include <ronde/distributed/timeline.h>
#include <ronde/models/file_io.h>

#include "common/output_place.h"
#include "report/report_files.h"
#include "report/timeline_summary.h"
#include "ronde/commands.h"

namespace ronde::apps {
namespace {

struct ReportOptions {
  std::string directory;
  std::string output;
};

bool is_timeline(const std::string& path) {
  return path.ends_with(".json") || path.ends_with(".json.gz");
}

/// Of a directory the page, of a timeline some lines.
void report(const ReportOptions& options) {
  if (is_timeline(options.directory)) {
    require<UsageError>(options.output.empty(), "--output: the report of a timeline is printed");
    const std::string text = read_timeline(options.directory);
    std::fputs(summary_text(summarize_timeline(text, options.directory)).c_str(), stdout);
    return;
  }
  const std::string path = options.output.empty() ? options.directory + "/report.html" : options.output;
  if (!options.output.empty()) require_place("--output", options.output);
  atomic_write_file(path, html_report(read_run_report(options.directory)));
  std::printf("%s\n", path.c_str());
}

}  // namespace

Command report_command() {
  const auto options = std::make_shared<ReportOptions>();
  return {.name = "report",
          .help = "make the HTML report of a run again, or sum up a timeline",
          .details =
              "From metrics.json and logs/evaluation.json, as a trainer's --dir leaves them; of a run\n"
              "with --log-dir alone, the curves from training.csv.\n\n"
              "Of a timeline: where the time of a step goes on each rank, and in which layers.\n\n"
              "  ronde report results                  writes results/report.html\n"
              "  ronde report timeline.json            prints its summary",
          .arguments = {argument("LOGDIR", "a run's --dir, or the logs in it, or a timeline",
                                 text(options->directory)),
                        option("--output", "FILE", "page to write (default: LOGDIR/report.html)",
                               text(options->output))},
          .run = [options](Communicator& world) { on_main(world, [&] { report(*options); }); }};
}

}  // namespace ronde::apps
