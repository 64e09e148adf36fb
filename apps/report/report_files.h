/// What is kept of a run, so that its report can be made again: `ronde report DIR`.
///
///     DIR/metrics.json           the Report (report/report.h)
///     DIR/logs/evaluation.json   the rest of a RunReport, pictures of mistakes included
///     DIR/logs/training.csv      epochs, when there is no metrics.json
#pragma once

#include <string>

#include "report/html_report.h"
#include "report/report_json.h"

namespace ronde::apps {

/// Writes `logs`/evaluation.json and, if `page` is not empty, the page; call it on rank 0, inside
/// `collectively`. IoError.
void write_run_report(const RunReport& run, const std::string& logs, const std::string& page);

/// From a run's --dir, or from the logs directory in it. IoError when there is nothing to report on; it says
/// what was looked for. InputError when a file is damaged.
RunReport read_run_report(const std::string& directory);

}  // namespace ronde::apps
