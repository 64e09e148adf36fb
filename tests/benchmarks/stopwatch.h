#pragma once

#include <ctime>

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

/// Of all threads of this process: user and system.
inline double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// What `part` of the values are below.
inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size()))];
}

inline double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

/// Seconds of one call.
struct Timing {
  double median = 0, best = 0;
};

/// Calls `f` as long as `wants_more(seconds of all calls, calls)`.
template <class F, class More>
Timing time_while(More&& wants_more, F&& f) {
  std::vector<double> times;
  const Stopwatch whole;
  while (wants_more(whole.seconds(), times.size())) {
    const Stopwatch one;
    f();
    times.push_back(one.seconds());
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

/// Calls `f` a few times unmeasured, then until `seconds` have passed.
template <class F>
Timing time_calls(double seconds, F&& f) {
  for (int i = 0; i < 3; ++i) f();
  return time_while([=](double passed, std::size_t calls) { return passed < seconds || calls < 3; }, f);
}

}  // namespace bench
