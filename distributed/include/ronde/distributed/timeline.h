/// Timeline: one file that shows what every thread of every rank did when, for Perfetto (ui.perfetto.dev) and
/// chrome://tracing.
///
///     {
///       const Timeline timeline(world, {.path = "timeline.json"});   // collective
///       model.fit(...);
///     }                                                              // collective: the file is there
///
/// While it lives, each process streams its events (`ronde/core/trace.h`) to a part of its own beside `path`
/// ("timeline.rank0.json"), on a thread that sleeps in between; producers never wait. `stop` brings the parts
/// into one file, rank 0's clock, and deletes them. A process that is killed leaves its part, which is a
/// valid timeline by itself: every part is complete JSON at every instant. Rows: a process is a rank (ranks
/// that are threads of one process share one), a thread is a row in it.
///
/// Clocks: ranks that booted together (one machine) share a clock. Others measure their distance to rank 0's
/// at the start and at the end and correct what lies between linearly; the file says how accurate that is.
///
/// Ownership: the communicator must outlive it. Thread safety: as the communicator's. One at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ronde/core/trace.h>
#include <ronde/core/trace_recorder.h>
#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

struct TimelineOptions {
  std::string path;                     ///< ".json", or ".json.gz" for a compressed one
  TraceWindow steps = {};               ///< of the training: which to record
  std::int64_t max_bytes = 64LL << 20;  ///< of the whole file, uncompressed; then recording stops and says so
};

class RONDE_API Timeline {
 public:
  /// Collective. IoError on all ranks when the file cannot be written; directories are made.
  Timeline(Communicator& communicator, TimelineOptions options);
  /// Calls `stop`, unless an exception is on its way: then the parts stay as they are.
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Ends the recording and writes the file; nothing the second time. Collective. IoError on all ranks when
  /// it cannot be written; the parts stay then.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "100:200", "100:" or ":200": the first and the last step, from 1. UsageError for anything else.
RONDE_API TraceWindow parse_trace_window(const std::string& text);

/// What $RONDE_TIMELINE (a path), $RONDE_TIMELINE_STEPS and $RONDE_TIMELINE_MB say; without them the path in
/// $HOROVOD_TIMELINE, unless that is "DYNAMIC". Nothing when none is set. `run_main` goes by rank 0's.
RONDE_API std::optional<TimelineOptions> timeline_from_environment();

/// A timeline's text, unzipped when the name ends in .gz. IoError, or InputError for a damaged file.
RONDE_API std::string read_timeline(const std::string& path);

}  // namespace ronde::inline v0
