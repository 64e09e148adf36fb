/// From the ranks' parts to one file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/clock.h"

namespace ronde::inline v0 {

/// The events of a part, sorted by time, with `correct` applied to it; one without a time comes first.
std::vector<std::string> sorted_events(std::string_view part,
                                       const std::function<std::int64_t(std::int64_t)>& correct);

/// Takes the events of the whole timeline; the file is at `path` when `finish` has returned, and not before.
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  virtual void append(std::string_view event) = 0;
  virtual void finish() = 0;
};

/// Zipped when the name says so. `header` ends in "[". IoError.
std::unique_ptr<TimelineSink> make_timeline_sink(const std::string& path, const std::string& header);

}  // namespace ronde::inline v0
