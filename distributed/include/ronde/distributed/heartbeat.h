/// Heartbeats: how far the ranks of this machine have come, for who supervises them from outside.
///
///     HeartbeatFile beats(4);
///     setenv("RONDE_HEARTBEAT", beats.address().c_str(), 1);  // then start mpirun -np 4 ...
///     beats.slot(2).step.load();                              // what rank 2 is at
///
/// Memory without a name that the ranks map through /proc: nothing is left behind, nothing listens. A rank
/// writes a few words to it as it goes; ranks on other machines, which cannot, write nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// Zeros: the rank has not come to `init` yet. Who finds `process` finds the deadlines too. What changes here
/// needs another version in heartbeat.cpp.
struct alignas(64) HeartbeatSlot {
  std::atomic<std::int32_t> process;
  std::atomic<std::uint32_t> held;       ///< 1: the rank is to get ready and wait
  std::atomic<std::int64_t> beat;        ///< when it was awake last; nanoseconds of the steady clock
  std::atomic<std::int64_t> step;        ///< of the training, from 1; a resumed run goes on counting
  std::atomic<std::int64_t> operations;  ///< collectives that it has come to
  std::atomic<std::int64_t> batches;     ///< of evaluation and prediction, and updates of weights
  std::atomic<double> start_deadline;    ///< seconds; when its own watchdog gives up the start: JobDeadlines
  std::atomic<double> later_deadline;    ///< and what comes later; infinity: never
  std::atomic<std::int32_t> paused;      ///< 1: what it does may take any time (WatchdogPause)
  std::atomic<std::uint32_t> trains;     ///< 1: a trainer, which saves nothing while `step` is 0
};
static_assert(sizeof(HeartbeatSlot) == 64, "ranks write to one cache line each");

class RONDE_API HeartbeatFile {
 public:
  explicit HeartbeatFile(int ranks);
  ~HeartbeatFile();
  HeartbeatFile(const HeartbeatFile&) = delete;
  HeartbeatFile& operator=(const HeartbeatFile&) = delete;

  int ranks() const { return ranks_; }
  /// What $RONDE_HEARTBEAT is to be, for processes of the same user on this machine, while this one lives. A
  /// program with another version of the slots takes it for none.
  std::string address() const;
  HeartbeatSlot& slot(int rank) const;
  /// All slots as they were at first.
  void clear();
  /// Ranks that come to `wait_while_held` wait there, asleep, until they are released.
  void hold();
  void release();

 private:
  int ranks_;
  int file_ = -1;
  void* memory_ = nullptr;
};

/// In a rank, when all is ready that does not depend on how far the training has come: waits there if whoever
/// supervises the job holds it, as a spare set of ranks that takes over when another fails. Returns for how
/// many seconds it was held. `init` does so, unless RONDE_WAITS_LATER is set: then the program does, which
/// may have loaded its data by then. Trainers set it.
RONDE_API double wait_while_held(int rank);

}  // namespace ronde::inline v0
