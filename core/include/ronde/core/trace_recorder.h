/// TraceRecorder: collects the events of all threads while it lives. At most one at a time in a process.
///
///     TraceRecorder recorder({.first_step = 100, .last_step = 120});
///     ... every now and then, from one thread:
///     recorder.drain([](const TraceThread& thread, std::span<const TraceEvent> events) { ... });
///
/// Threads write into rings of their own and never wait: what does not fit, because nobody drained in time,
/// is counted and lost. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include <ronde/core/trace.h>

namespace ronde::inline v0 {

/// The steps to record, from 1; those in between, and what happens before the first of them, are left out.
struct TraceWindow {
  std::int64_t first_step = 1;
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
};

struct TraceThread {
  int id = 0;                  ///< within the process; of a thread that ended, one of the same name gets it
  const char* name = nullptr;  ///< nullptr: it has none
  std::int64_t lost = 0;       ///< events since the last call that found no place
};

class TraceRing;

class RONDE_API TraceRecorder {
 public:
  using Visitor = std::function<void(const TraceThread& thread, std::span<const TraceEvent> events)>;

  /// Events before this one's birth are not its own. UsageError while another recorder lives.
  explicit TraceRecorder(TraceWindow window = {});
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  /// No new scopes from here on; those that are open are still recorded when they end.
  void stop();
  /// Visits the events that ended since the last call, for each thread in the order of their ends.
  void drain(const Visitor& visit);
  /// Events that a ring takes between two calls of `drain`.
  static constexpr std::int64_t kRingEvents = 16384;

 private:
  void drain_ring(TraceRing& ring, const Visitor& visit) const;

  std::int64_t begin_ = 0;
};

/// Nanoseconds of the clock that events are timed with.
RONDE_API std::int64_t trace_clock();

}  // namespace ronde::inline v0
