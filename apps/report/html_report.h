/// The report of a training run as one HTML file to send to a colleague: no script, nothing loaded from
/// elsewhere, for a phone and a wide screen, light and dark.
///
///     RunReport run{.report = report, .details = details, .machine = machine_description(), ...};
///     if (world.rank() == 0) atomic_write_file(dir + "/report.html", html_report(run));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/evaluation_details.h"
#include "report/report.h"
#include "report/timeline_summary.h"

namespace ronde::apps {

/// How long a part of the run took.
struct TimeShare {
  std::string what;  ///< "training", "evaluation", "checkpoints", ...
  double seconds = 0.0;
};

/// All that is known of a run. Whatever is empty is left out of the page.
struct RunReport {
  Report report = {};
  std::optional<EvaluationDetails> details = {};
  std::optional<TimelineSummary> timeline = {};
  std::string command = {};           ///< as typed: run_command()
  std::string machine = {};           ///< a line: machine_description()
  std::string data = {};              ///< a line: "CIFAR-10, 50,000 + 10,000 images from ..."
  std::string finished = {};          ///< "2026-11-21 10:45 UTC": utc_now()
  std::vector<TimeShare> times = {};  ///< parts that do not overlap, in the order to show them
  double total_seconds = 0.0;         ///< from start to end; what `times` leaves is shown as "other"
};

/// The page. A run without a test, with one epoch, or that failed is fine. All text is escaped.
std::string html_report(const RunReport& run);

}  // namespace ronde::apps
