#include <ronde/distributed/watchdog.h>

#include "watchdog/flight_recorder.h"

namespace ronde::inline v0 {

WatchedPhase::WatchedPhase(Communicator& communicator, WatchedWork work)
    : recorder_(communicator.flight_recorder()) {
  if (recorder_) recorder_->begin_phase(work);
}

WatchedPhase::~WatchedPhase() {
  if (recorder_) recorder_->end_phase();
}

void begin_watched_step(Communicator& communicator, std::int64_t step) {
  if (const auto recorder = communicator.flight_recorder()) recorder->begin_step(step);
}

void note_watched_batch(Communicator& communicator) {
  if (const auto recorder = communicator.flight_recorder()) recorder->count_batch();
}

}  // namespace ronde::inline v0
