/// Patience: how long to wait for a job that shows no progress, depending on how far it has come.
///
/// The ranks' own watchdogs know more, so they get their deadlines first, and this asks what those are; it is
/// for a job in which they cannot act: all is stopped, or mpirun itself hangs. As with them, only time in
/// which this process itself was awake counts, a pause between two looks as a second at most.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/distributed/heartbeat.h>
#include <ronde/distributed/watchdog.h>

namespace ronde::apps {

class Patience {
 public:
  /// `ranks`: how long they wait themselves. `now`: seconds of a steady clock.
  Patience(const JobDeadlines& ranks, double now);

  /// "" while all is well, else why the job should be ended. To be called more than once a second.
  std::string complaint(const HeartbeatFile& beats, double now);

 private:
  JobDeadlines ranks_;
  double looked_;        // when
  double waited_ = 0.0;  // seconds since progress was seen
  std::int64_t seen_ = 0;
};

}  // namespace ronde::apps
