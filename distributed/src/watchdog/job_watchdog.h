/// The watchdog of this process as a rank of a job: what the environment says, and how a hung job ends.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ronde/distributed/communicator.h>

#include "launch/launch.h"
#include "watchdog/watchdog.h"

namespace ronde::inline v0 {

/// Of a rank of several; nullptr without deadlines. It watches the start-up.
std::unique_ptr<Watchdog> start_job_watchdog(const Launch& launch, const std::optional<Deadlines>& deadlines);

/// Opens a board for the ranks of each node, where they can share memory, and watches this rank's operations
/// from here on. Collective; all ranks call it, `watchdog` may be nullptr on some.
void watch_world(Watchdog* watchdog, Communicator& world);

}  // namespace ronde::inline v0
