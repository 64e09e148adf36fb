/// RunEnd: what a run leaves behind when its training has ended and its weights are tested.
#pragma once

#include <optional>
#include <string>

#include <ronde/distributed/timeline.h>
#include <ronde/models/model.h>

#include "common/run_clock.h"
#include "common/storage_failures.h"
#include "common/training.h"
#include "report/evaluation_details.h"
#include "report/report.h"

namespace ronde::apps {

/// As far as it could be written: no result is lost for a full disk, which is told at the very end.
struct RunEnd {
  std::string saved_model, timeline, page;
  std::string tested;    ///< a line on which weights that were; may be empty
  double seconds = 0.0;  ///< from data in memory to the tested model
  StorageFailures failures;
};

/// Collective.
void write_model_and_timeline(Model& model, const TrainingJob& job, std::optional<Timeline>& timeline,
                              RunEnd& end);
/// Collective.
void write_page(Communicator& world, const TrainingJob& job, const Report& report,
                std::optional<EvaluationDetails> details, const RunClock& clock, RunEnd& end);
/// On rank 0.
void print_end(Model& model, const TrainingJob& job, const Report& report, const RunEnd& end);

}  // namespace ronde::apps
