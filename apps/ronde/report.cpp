// `ronde report DIR`
#include <cstdio>
#include <memory>

#include <ronde/models/file_io.h>

#include "report/report_files.h"
#include "ronde/commands.h"

namespace ronde::apps {
namespace {

struct Options {
  std::string directory;
  std::string output;
};

void write_report(const Options& options) {
  const std::string path = options.output.empty() ? options.directory + "/report.html" : options.output;
  atomic_write_file(path, html_report(read_run_report(options.directory)));
  std::printf("%s\n", path.c_str());
}

}  // namespace

Command report_command() {
  const auto options = std::make_shared<Options>();
  return {.name = "report",
          .help = "make the HTML report of a run again from what its directory holds",
          .details =
              "From metrics.json and logs/evaluation.json, as a trainer's --dir leaves them; of a run\n"
              "with --log-dir alone, the curves from training.csv.\n\n"
              "  ronde report results                  writes results/report.html",
          .arguments = {argument("LOGDIR", "a run's --dir, or the logs in it", text(options->directory)),
                        option("--output", "FILE", "page to write (default: LOGDIR/report.html)",
                               text(options->output))},
          .run = [options](Communicator& world) { on_main(world, [&] { write_report(*options); }); }};
}

}  // namespace ronde::apps
