/// Watchdog: no job hangs for ever. Every process that `init` or `run_main` make a rank of several has one.
///
/// When a rank has waited for the others in one operation, or has been in one phase, for longer than the
/// deadline, the job ends with exit status 86. One line on stderr names the rank that is late, the operation,
/// its number and the parameters in it; every rank writes its flight recorder (its last operations) into
/// $RONDE_FLIGHT_RECORDER/ronde-flight-rank-2.txt (or $TMPDIR, or /tmp), and stopped ranks are killed, so
/// that none stays behind.
///
///     RONDE_HANG_TIMEOUT=120 mpirun -np 4 ./my_training      # seconds; 600 by default, 0: no watchdog
///
/// Some work may need longer, or should be given less; each of these is RONDE_HANG_TIMEOUT (the start: at
/// least 60) unless it is set, in seconds, 0 for ever:
///
///     RONDE_HANG_TIMEOUT_START         until the ranks have come together; where no launcher brings them
///                                      together (RONDE_RENDEZVOUS), they give up after a minute without it
///     RONDE_HANG_TIMEOUT_LOADER        one wait for the data loader
///     RONDE_HANG_TIMEOUT_CHECKPOINT    one wait for a checkpoint to be written
///
/// While a rank is in such work, that deadline holds for those who wait for it too. Ranks of other nodes,
/// who cannot see what it does, wait for the longest of all.
///
/// Time in which a rank itself was stopped does not count, so a job that was suspended goes on when it is
/// continued; nor does time in which the late rank is in a debugger. A rank whose launcher (mpirun, srun) is
/// gone ends itself.
///
/// What a rank does alone, and others wait for, is a phase: the watchdog then knows what it is late with.
#pragma once

#include <cstdint>
#include <memory>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

enum class WatchedWork : std::int32_t { none, loader, checkpoint };

class RONDE_API WatchedPhase {
 public:
  /// Phases do not nest. Nothing where there is no watchdog.
  WatchedPhase(Communicator& communicator, WatchedWork work);
  ~WatchedPhase();
  WatchedPhase(const WatchedPhase&) = delete;
  WatchedPhase& operator=(const WatchedPhase&) = delete;

 private:
  std::shared_ptr<FlightRecorder> recorder_;
};

/// Says that this rank begins step `step` (from 1) of its training; `fit` does. In a loop of one's own each
/// `DistributedOptimizer::step` counts as one, by the optimizer's iterations, until the loop itself calls
/// this: then a job that was started again can say how far it really is.
RONDE_API void begin_watched_step(Communicator& communicator, std::int64_t step);
/// Says that this rank is through with one more batch of what makes no steps, an evaluation perhaps, so that
/// who supervises the job sees it move. `evaluate` and `predict` do.
RONDE_API void note_watched_batch(Communicator& communicator);

/// While it lives the watchdog of this process waits: for what may take any time, such as a download. All
/// ranks, since those that wait have deadlines too.
class RONDE_API WatchdogPause {
 public:
  WatchdogPause();
  ~WatchdogPause();
  WatchdogPause(const WatchdogPause&) = delete;
  WatchdogPause& operator=(const WatchdogPause&) = delete;
};

}  // namespace ronde::inline v0
