/// The parts of the page, from top to bottom. Each is empty when there is nothing to show.
#pragma once

#include <string>

#include "report/html_report.h"

namespace ronde::apps {

/// What ran, how it ended and the result, in one sentence too.
std::string header_section(const RunReport& run);
std::string figures_section(const RunReport& run);
std::string curves_section(const Report& report);
/// Confusion matrix and accuracy by class; of many classes the worst ones only.
std::string classes_section(const EvaluationDetails& details);
std::string mistakes_section(const EvaluationDetails& details);
/// Where the time of a step goes.
std::string timeline_section(const TimelineSummary& summary);
std::string times_section(const RunReport& run);
/// Command, machine, data, and the numbers of each epoch.
std::string run_section(const RunReport& run);

/// The page's <title>.
std::string page_title(const Report& report);

}  // namespace ronde::apps
