/// Desertion: an mpirun whose ranks have all ended and that does not end itself. One of Open MPI 4.1.4 waits
/// for ever where a rank is killed while it connects; no rank may have told of itself by then, so that
/// nothing else is known of it (patience.h).
#pragma once

#include <string>
#include <vector>

namespace ronde::apps {

class Desertion {
 public:
  /// Whether it is time to look again, at `now` in seconds.
  bool is_due(double now) const { return now >= next_look_; }
  /// `commands`: of the processes that mpirun has; ranks are those that name `program`. Whether it had ranks
  /// and has had no process for ten seconds.
  bool add(const std::vector<std::string>& commands, const std::string& program, double now);

 private:
  bool had_ranks_ = false;
  double last_seen_ = 0.0;  // a process, or no rank yet
  double next_look_ = 0.0;
};

}  // namespace ronde::apps
