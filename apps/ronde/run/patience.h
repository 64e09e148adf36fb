/// Patience: how long to wait for a job that shows no progress, depending on how far it has come.
///
/// The ranks' own watchdogs know more, so they get their deadlines first, which they tell in their
/// heartbeats; this is for a job in which they cannot act: all is stopped, or mpirun itself hangs. As with
/// them, only time in which this process itself was awake counts, a pause between two looks as a second at
/// most.
///
/// Note [What moves]: a job moves when a rank comes to a step, a collective or a batch, and while a rank
/// computes, whatever that is for: ranks that wait for each other sleep. Only where another rank stands still
/// altogether, even its watchdog, computing is no sign of life: that may be MPI, which spins as it waits for
/// a rank that was stopped. A program that never comes to `init` tells nothing, and is never judged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <ronde/distributed/heartbeat.h>

#include "ronde/run/processor_time.h"

namespace ronde::apps {

class Patience {
 public:
  /// Of a process; `processor_seconds` but for tests.
  using ProcessorTime = std::function<double(pid_t)>;

  /// `now`: seconds of a steady clock.
  explicit Patience(double now, ProcessorTime processor_time = processor_seconds);

  /// "" while all is well, else why the job should be ended. To be called more than once a second.
  std::string complaint(const HeartbeatFile& beats, double now);

 private:
  // A rank as it was a moment ago.
  struct Glimpse {
    std::int64_t beat = 0;
    double computed = 0.0;
  };
  bool computes(const HeartbeatFile& beats);

  ProcessorTime processor_time_;
  double looked_;          // when
  double awake_ = 0.0;     // seconds of this process
  double waited_ = 0.0;    // of these, since the job moved
  double glimpsed_ = 0.0;  // what `awake_` was at the glimpses
  std::int64_t seen_ = 0;
  std::vector<Glimpse> glimpses_;
};

}  // namespace ronde::apps
