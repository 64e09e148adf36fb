/// What the environment says of the start of a rank.
#pragma once

#include <optional>
#include <string>

#include <ronde/distributed/tcp_communicator.h>

#include "watchdog/deadlines.h"

namespace ronde::inline v0 {

struct StartSettings {
  std::optional<Deadlines> deadlines = Deadlines();
  double meeting_patience = TcpOptions().patience;
  /// What is wrong with it; the rest is as if it were not set. Kept for when the ranks can hear each other,
  /// so that one of them reports it.
  std::string mistake = {};
};

StartSettings read_start_settings();

}  // namespace ronde::inline v0
