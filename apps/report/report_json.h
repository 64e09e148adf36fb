/// A run's report as JSON, and back.
#pragma once

#include <string>

#include "report/html_report.h"

namespace ronde::apps {

/// Of evaluation.json: all of `run` but its `report`.
std::string details_json(const RunReport& run);
/// The inverse. `source` names the text in the InputError for what does not fit.
void parse_details(const std::string& text, const std::string& source, RunReport& run);
/// Of metrics.json: the inverse of to_json(Report). What is missing keeps its default.
Report parse_report(const std::string& text, const std::string& source);

}  // namespace ronde::apps
