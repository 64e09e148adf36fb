/// The events of a timeline, by row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ronde::apps {

/// Times in nanoseconds, so that an event which begins when another ends is not within it.
struct TimelineEvent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string category;
  std::string name;
};

struct TimelineRows {
  /// By process, which is a rank, and thread; in the order of their begins.
  std::map<std::pair<int, int>, std::vector<TimelineEvent>> rows;
  double clock_error = 0.0;  ///< seconds
  std::int64_t lost = 0;
  std::string ended_early;
};

/// Reads a line at a time, as Ronde writes them: a whole tree of a large file would not fit into memory.
TimelineRows read_timeline_rows(const std::string& text, const std::string& source);

}  // namespace ronde::apps
