/// A rank's side of `ronde/distributed/heartbeat.h`.
#pragma once

#include <memory>

#include <ronde/distributed/heartbeat.h>

namespace ronde::inline v0 {

/// The slot in the file of $RONDE_HEARTBEAT; nullptr when there is none, or none for this rank.
std::shared_ptr<HeartbeatSlot> open_heartbeat(int rank);

}  // namespace ronde::inline v0
