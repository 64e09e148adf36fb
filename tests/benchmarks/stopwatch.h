#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Seconds of one call.
struct Timing {
  double median = 0, best = 0;
};

/// Calls `f` a few times unmeasured, then until `seconds` have passed.
template <class F>
Timing time_calls(double seconds, F&& f) {
  for (int i = 0; i < 3; ++i) f();
  std::vector<double> times;
  const Stopwatch whole;
  while (whole.seconds() < seconds || times.size() < 3) {
    const Stopwatch one;
    f();
    times.push_back(one.seconds());
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

}  // namespace bench
