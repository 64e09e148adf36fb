#include "common/run_clock.h"

#include <algorithm>

namespace ronde::apps {

void RunClock::add(const std::string& what, double seconds) {
  const auto same = [&](const TimeShare& share) { return share.what == what; };
  const auto found = std::find_if(shares_.begin(), shares_.end(), same);
  if (found == shares_.end()) {
    shares_.push_back({what, seconds});
  } else {
    found->seconds += seconds;
  }
}

}  // namespace ronde::apps
