#include "training/non_finite_recovery.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "training/resume.h"

namespace ronde::inline v0 {

NonFiniteRecovery::NonFiniteRecovery(Model& model, Model::State& state, Checkpointer& checkpointer,
                                     NonFiniteOptions options, Warn warn)
    : model_(model), state_(state), checkpointer_(checkpointer), options_(options), warn_(std::move(warn)) {}

void NonFiniteRecovery::go_on(const std::string& file, std::int64_t times) {
  source_ = file;
  // Behind a return, the file itself is the one that was written since.
  if (options_.action == NonFiniteAction::skip) times_ = times;
}

void NonFiniteRecovery::note_update() {
  if (options_.action == NonFiniteAction::skip) times_ = 0;
}

void NonFiniteRecovery::recover(const std::string& found, int rank) {
  if (options_.action == NonFiniteAction::abort)
    throw CollectiveError(found, ExitStatus::non_finite, *state_.communicator, rank);
  const std::string what = options_.action == NonFiniteAction::skip ? "skipped" : roll_back(found);
  if (++times_ >= options_.limit)
    throw CollectiveError(cat(found, "; this has happened ", times_, " times in a row"),
                          ExitStatus::non_finite, *state_.communicator, rank);
  warn_(cat(found, "; ", what, " (", times_, " of ", options_.limit, ")"));
}

// The place in the data, the callbacks and the rate they have chosen stay.
std::string NonFiniteRecovery::roll_back(const std::string& found) {
  std::vector<std::string> files = checkpointer_.written();
  if (!source_.empty()) files.push_back(source_);
  // Where the newest file has led here before, whatever the samples, the one before it may do better.
  if (std::exchange(files_at_rollback_, checkpointer_.written_count()) < checkpointer_.written_count())
    times_ = 0;
  if (!files.empty()) files.erase(files.begin(), files.begin() + std::min(times_, std::ssize(files) - 1));
  const TrainingProgress progress = state_.progress;
  const double rate = state_.optimizer->optimizer().learning_rate();
  for (const std::string& file : files) {
    try {
      model_.load_weights(file);
      return_to_trained_weights(state_);
    } catch (const CollectiveError& error) {
      warn_(cat("cannot go back to ", error.what()));
      continue;
    }
    const std::int64_t steps = std::exchange(state_.progress, progress).steps;
    state_.optimizer->optimizer().set_learning_rate(rate);
    return cat("back to ", file, " (step ", steps, "), and on with the next samples");
  }
  throw CollectiveError(cat(found, "; there is no checkpoint to go back to"), ExitStatus::non_finite,
                        *state_.communicator, 0);
}

}  // namespace ronde::inline v0
