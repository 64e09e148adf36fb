/// How long each kind of waiting may take; ronde/distributed/watchdog.h says what users set.
#pragma once

#include <optional>

#include <ronde/distributed/watchdog.h>

namespace ronde::inline v0 {

/// Seconds; infinity: for ever.
struct Deadlines {
  static constexpr const char* kVariable = "RONDE_HANG_TIMEOUT";

  double operation = 600.0;  ///< one collective operation; as long as PyTorch waits
  double start = 600.0;      ///< until the ranks have come together
  double loader = 600.0;
  double checkpoint = 600.0;

  /// One for all.
  static Deadlines all(double seconds) { return {seconds, seconds, seconds, seconds}; }
  /// none: that of an operation.
  double of(WatchedWork work) const;
  double shortest() const;
  /// Of what goes on once the ranks have come together.
  double longest() const;
};

/// Nothing when there is to be no watchdog. UsageError.
std::optional<Deadlines> deadlines_from_environment();

/// How long a rank itself may wait, as who supervises the job wants to know it; infinity: for ever.
struct JobDeadlines {
  double start;  ///< until the ranks have come together
  double later;  ///< for whatever else may take longest
};
/// Of a rank with these deadlines; nothing: without a watchdog.
JobDeadlines job_deadlines(const std::optional<Deadlines>& deadlines);

/// How long ranks that meet without a launcher wait for each other: a minute, unless the start has a deadline
/// of its own. UsageError.
double meeting_patience();

/// "waiting for the data loader"
const char* describe(WatchedWork work);

}  // namespace ronde::inline v0
