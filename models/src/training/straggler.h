/// Finds a rank that is slower than the others, step after step, and for which all of them wait.
#pragma once

#include <string>
#include <vector>

namespace ronde::inline v0 {

/// Quartiles of the seconds that a rank took for a step of its own: samples, forward, backward; no waiting
/// for other ranks.
struct StepTimes {
  double lower = 0.0;
  double median = 0.0;
  double upper = 0.0;
};

/// Of at least one step.
StepTimes step_times(std::vector<double> seconds);

struct Straggler {
  int rank = 0;
  double seconds = 0.0;         ///< its median
  double others_seconds = 0.0;  ///< median of the other ranks' medians
};

/// Judges window after window. A rank is slow in a window when its median is at least 1.3 times the others'
/// and three quarters of its steps take longer than three quarters of theirs; it is a straggler when it was
/// slow in three windows in a row. So a moment in which something else runs on its machine is none, and
/// neither is one long step, however long. More than half of the ranks cannot be stragglers.
class StragglerDetector {
 public:
  /// `ranks`: of each rank, in the window that ended. Gives those that have become stragglers now: each once.
  std::vector<Straggler> add(const std::vector<StepTimes>& ranks);

 private:
  std::vector<int> slow_windows_;  // of each rank, in a row; it stays at the number that makes a straggler
};

}  // namespace ronde::inline v0
