/// How far the ranks' clocks are apart.
///
/// Note [Clocks]: in a round every rank tells all others, by one allgather, the time just before it took
/// part. It cannot have ended on rank r before rank 0 told its time, nor on rank 0 before rank r did, so each
/// round bounds the difference from both sides; the bounds of all rounds together hold it within about the
/// time that one allgather takes.
#pragma once

#include <cstdint>
#include <functional>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

struct ClockDifference {
  std::int64_t nanoseconds = 0;  ///< this rank's clock minus rank 0's
  std::int64_t error = 0;        ///< at most so many nanoseconds too much or too little
  std::int64_t at = 0;           ///< by this rank's clock
};

/// Collective. `clock` gives this rank's time in nanoseconds.
ClockDifference measure_clock(Communicator& communicator, const std::function<std::int64_t()>& clock);

/// Two measurements, and the straight line between them.
struct ClockLine {
  ClockDifference begin, end;
  /// Of rank 0's clock when this rank's says `own`.
  std::int64_t rank_0_time(std::int64_t own) const;
};

}  // namespace ronde::inline v0
