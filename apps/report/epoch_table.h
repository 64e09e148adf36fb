/// Epochs from the table that CSVLogger writes.
#pragma once

#include <string>

#include "report/report.h"

namespace ronde::apps {

/// A report that knows its epochs and nothing else (0 threads, no status). Of an epoch that is there twice,
/// because a run went on, the later row counts. `source` names the text in the InputError for what does not
/// fit.
Report parse_epoch_table(const std::string& text, const std::string& source);

}  // namespace ronde::apps
