/// Patience: how long to wait for a job that shows no progress, depending on how far it has come.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/distributed/heartbeat.h>

namespace ronde::apps {

/// The ranks' own watchdogs know more, so they get their deadline first; this is for a job in which they
/// cannot act: all is stopped, or mpirun itself hangs.
class Patience {
 public:
  /// `deadline`: seconds that an operation of the ranks may take; 0: no limit. `now`: seconds of a steady
  /// clock.
  Patience(double deadline, double now);

  /// "" while all is well, else why the job should be ended.
  std::string complaint(const HeartbeatFile& beats, double now);

 private:
  double limit_;
  double changed_;  // when progress was seen last
  std::int64_t seen_ = 0;
};

}  // namespace ronde::apps
