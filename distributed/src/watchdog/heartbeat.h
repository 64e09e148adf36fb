/// A rank's side of `ronde/distributed/heartbeat.h`.
#pragma once

#include <memory>

#include <ronde/distributed/heartbeat.h>

#include "watchdog/deadlines.h"

namespace ronde::inline v0 {

/// The slot in the file of $RONDE_HEARTBEAT; nullptr when there is none, none for this rank, or none
/// of this version.
std::shared_ptr<HeartbeatSlot> open_heartbeat(int rank);

/// The same; from now on whoever supervises the job knows that the rank is there, and how long it waits
/// itself.
std::shared_ptr<HeartbeatSlot> report_for_duty(int rank, const JobDeadlines& deadlines);

/// Whether the program, a trainer, calls `wait_while_held` itself.
bool waits_later_than_init();

}  // namespace ronde::inline v0
